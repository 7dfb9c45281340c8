/** Compiled, never run: code of an application that must compile, and lines that must not. */
import {
  DistributedLockModule,
  LockError,
  Locked,
  type LockHandle,
  type LockService,
} from 'nestjs-distributed-lock';
import { FakeLockService, TestLockStore, type LockCall } from 'nestjs-distributed-lock/testing';
import { Redis } from 'ioredis';

export async function results(locks: LockService): Promise<number> {
  const value: number = await locks.withLock('key', () => 1);
  const other: string = await locks.withLock('key', { waitTime: 1_000 }, async (lock: LockHandle) => {
    lock.signal.throwIfAborted();
    return Promise.resolve(lock.key);
  });
  const maybe: LockHandle | null = await locks.tryAcquire('key', { leaseTime: 1_000 });
  // @ts-expect-error tryAcquire may return null
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
  DistributedLockModule.forRoot({ store: new TestLockStore({ frozen: true }) }),
  DistributedLockModule.forRootAsync({ useFactory: () => ({ redis: 'redis://localhost' }) }),
];

declare const fromEnvironment: string | undefined;
// @ts-expect-error the variable may not be set
DistributedLockModule.forRoot({ redis: fromEnvironment });

export class Decorated {
  private readonly prefix = 'orders';

  @Locked({
    key(id: number) {
      return `${this.prefix}:${id.toFixed()}`;
    },
    onBusy: 'skip',
  })
  async skips(id: number): Promise<number | undefined> {
    return Promise.resolve(id);
  }

  @Locked({ key: (id: number) => `order:${id.toFixed()}` })
  async fits(id: number): Promise<number> {
    return Promise.resolve(id);
  }

  // @ts-expect-error the key function takes the parameters of the method
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

export async function tested(run: (locks: LockService) => Promise<void>): Promise<readonly LockCall[]> {
  const fake = new FakeLockService();
  await run(fake);
  await fake.store.advance(1_000);
  return fake.calls;
}

export function code(error: unknown): string | undefined {
  return error instanceof LockError ? error.code : undefined;
}
