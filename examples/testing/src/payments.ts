import { Controller, Injectable, Param, Post } from '@nestjs/common';
import { Locked, LockService } from 'nestjs-distributed-lock';

@Injectable()
export class Bank {
  confirm(id: string): Promise<string> {
    return Promise.resolve(`confirmed ${id}`);
  }
}

@Injectable()
export class Payments {
  constructor(
    private readonly bank: Bank,
    private readonly locks: LockService,
  ) {}

  @Locked({ key: (id: string) => `payment:${id}`, waitTime: 0 })
  async pay(id: string): Promise<string> {
    return this.bank.confirm(id);
  }

  async refund(id: string): Promise<string> {
    return this.locks.withLock(`payment:${id}`, { waitTime: 5_000 }, async (lock) => {
      const answer = await this.bank.confirm(id);
      lock.assertHeld();
      return answer;
    });
  }
}

@Controller('payments')
export class PaymentsController {
  constructor(private readonly payments: Payments) {}

  @Post(':id')
  pay(@Param('id') id: string): Promise<string> {
    return this.payments.pay(id);
  }
}
