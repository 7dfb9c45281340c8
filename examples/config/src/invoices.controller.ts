import { Controller, Param, Post } from '@nestjs/common';
import { InjectLockService, Locked, LockService } from 'nestjs-distributed-lock';

@Controller('invoices')
export class InvoicesController {
  constructor(
    private readonly locks: LockService,
    @InjectLockService('billing') private readonly billing: LockService,
  ) {}

  /** Locked in the Redis of the instance `billing`. */
  @Post(':id/payments')
  @Locked({ instance: 'billing', key: (id: string) => `invoice:${id}` })
  async pay(@Param('id') id: string): Promise<{ invoice: string; lockedInBilling: boolean }> {
    return { invoice: id, lockedInBilling: this.billing.current(`invoice:${id}`) !== undefined };
  }

  /** Locked by the instance without a name. */
  @Post(':id/reminders')
  async remind(@Param('id') id: string): Promise<{ reminded: string }> {
    return this.locks.withLock(`invoice:${id}`, async () => ({ reminded: id }));
  }
}
