/** Compiled, never run: what the compiler has to accept and to refuse in an application. */
import {
  DistributedLockModule,
  LockError,
  Locked,
  type LockHandle,
  type LockService,
} from 'nestjs-distributed-lock';
import { Redis } from 'ioredis';

export async function results(locks: LockService): Promise<number> {
  const value: number = await locks.withLock('key', () => 1);
  const other: string = await locks.withLock('key', { waitTime: 1_000 }, async (lock: LockHandle) => {
    lock.signal.throwIfAborted();
    return Promise.resolve(lock.key);
  });
  const maybe: LockHandle | null = await locks.tryAcquire('key', { leaseTime: 1_000 });
  // @ts-expect-error tryAcquire may not have got it
  await locks.tryAcquire('key').then((lock) => lock.token);
  // @ts-expect-error a duration is a number of milliseconds
  await locks.acquire('key', { waitTime: '5s' });
  return value + other.length + (maybe?.token ?? 0);
}

export const modules = [
  DistributedLockModule.forRoot({ redis: 'redis://localhost' }),
  DistributedLockModule.forRoot({ redis: { host: 'localhost', port: 6379 } }),
  DistributedLockModule.forRoot({ redis: new Redis({ lazyConnect: true }) }),
  DistributedLockModule.forRoot({ store: 'memory' }),
  DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: 'redis://localhost' }) }),
];

export class Decorated {
  @Locked({ key: (id: number) => `order:${id.toFixed()}` })
  async fits(id: number): Promise<number> {
    return Promise.resolve(id);
  }

  // @ts-expect-error the key function takes what the method takes
  @Locked({ key: (id: string) => id.trim() })
  async differs(id: number): Promise<number> {
    return Promise.resolve(id);
  }

  // @ts-expect-error only a promise or an observable can be locked
  @Locked('key')
  plain(): number {
    return 1;
  }
}

export function code(error: unknown): string | undefined {
  return error instanceof LockError ? error.code : undefined;
}
