import { setTimeout } from 'node:timers/promises';
import { Body, Controller, Param, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

@Controller('accounts')
export class AccountsController {
  private readonly balances = new Map<string, number>();

  /** One deposit to an account at a time. Deposits to other accounts run at the same time. */
  @Post(':id/deposits')
  @Locked({ key: (id: string) => `account:${id}`, waitTime: 3_000 })
  async deposit(@Param('id') id: string, @Body() { amount }: Deposit): Promise<{ balance: number }> {
    const before = this.balances.get(id) ?? 0;
    await setTimeout(20); // Without the lock, another deposit would read the old balance now.
    this.balances.set(id, before + amount);
    return { balance: before + amount };
  }
}

interface Deposit {
  readonly amount: number;
}
