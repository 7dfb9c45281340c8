import { Controller, Delete, Get, Param } from '@nestjs/common';
import { LockAdmin, type LockHolder, type LockWaiter } from 'nestjs-distributed-lock';

@Controller('locks')
export class LocksController {
  constructor(private readonly admin: LockAdmin) {}

  @Get(':key')
  async show(@Param('key') key: string): Promise<string[]> {
    const info = await this.admin.inspect(key);
    if (info === null) return [`${key} is free`];
    return [
      ...info.holders.map((holder) => `held ${describe(holder)}, ${Math.round(holder.remaining)} ms left`),
      ...info.waiters.map((waiter) => `${waiter.callers} waiting ${describe(waiter)}, ${waiter.mode}`),
    ];
  }

  @Delete(':key')
  async break(@Param('key') key: string): Promise<{ wasHeld: boolean }> {
    return { wasHeld: await this.admin.forceRelease(key, { by: 'the night shift' }) };
  }
}

function describe({ label = 'unknown work', process }: LockHolder | LockWaiter): string {
  return `for ${label} by ${process === undefined ? 'other software' : `${process.host}, pid ${process.pid}`}`;
}
