import { applyDecorators } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { Locked, type LockedDecorator } from 'nestjs-distributed-lock';

/** A cron job that one replica runs and the others skip. Holds the lock for 500 ms at least, in case their clocks differ. */
export function LockedCron(expression: string, key: string): LockedDecorator<[], object, 'skip'> {
  return applyDecorators(
    Cron(expression),
    Locked({ key: `cron:${key}`, waitTime: 0, onBusy: 'skip', holdAtLeast: 500 }) as MethodDecorator,
  );
}
