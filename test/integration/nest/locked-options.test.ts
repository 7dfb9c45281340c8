import { Controller, Get, Injectable, Query } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { defer, lastValueFrom, of, type Observable } from 'rxjs';
import {
  currentLock,
  DistributedLockModule,
  getLockServiceToken,
  Locked,
  LockConflictError,
  LockLostError,
  LockNotHeldError,
  LockOptionsError,
  LockTimeoutError,
  LockUpgradeError,
  type LockEvent,
  type LockHandle,
  type LockService,
} from '../../../lib/index.js';
import { rejectionOf, until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

type Text = (value: unknown) => string;
type Time = (value: unknown) => number;
/** Returns what the method gets, which its type forbids. */
const given = (value: unknown): unknown => value;

@Injectable()
class Shop {
  readonly patience = 50_000;
  readonly calls: unknown[] = [];

  @Locked({
    key(this: Shop, sku: string, amount?: number) {
      return `${String(this.patience)}:${sku}:${amount ?? 'all'}`;
    },
  })
  async byKey(sku: string, amount?: number): Promise<string> {
    this.calls.push([sku, amount]);
    return Promise.resolve(currentLock().key);
  }

  @Locked({ key: given as Text })
  async key(value: unknown): Promise<void> {
    this.calls.push(value);
    return Promise.resolve();
  }

  @Locked({
    key: () => {
      throw new TypeError('no sku');
    },
  })
  async throwing(): Promise<void> {
    this.calls.push('throwing');
    return Promise.resolve();
  }

  @Locked({ key: 'kind', mode: 'shared' })
  async read(): Promise<void> {
    await this.update();
  }

  @Locked('kind')
  async update(): Promise<void> {
    return Promise.resolve();
  }

  @Locked({ key: 'kind', limit: 3, permits: 2, waitTime: 0 })
  async book(work: () => Promise<unknown>): Promise<void> {
    await work();
  }

  @Locked({
    key: 'stock',
    label: (sku: string) => `stock of ${sku}`,
    leaseTime: (_sku: string, ms: number) => ms,
    operation: (sku: string) => (sku === 'a' ? 'first' : 'other'),
    waitTime(this: Shop) {
      return this.patience;
    },
  })
  async take(_sku: string, _ms: number): Promise<LockHandle> {
    return Promise.resolve(currentLock());
  }

  @Locked({ key: 'stock', waitTime: (ms: number | undefined) => ms })
  async wait(_ms: number | undefined): Promise<string> {
    return Promise.resolve('got it');
  }

  @Locked({ key: 'stock', holdAtLeast: (ms: number) => ms })
  async atLeast(_ms: number): Promise<void> {
    return Promise.resolve();
  }

  @Locked({ key: 'stock', label: (sku: string) => `stream of ${sku}`, returns: 'observable' })
  stream(_sku: string): Observable<string> {
    return defer(() => of(currentLock().key));
  }

  @Locked({ key: 'k', label: given as Text })
  async label(_value: unknown): Promise<void> {
    return Promise.resolve();
  }

  @Locked({ key: 'k', waitTime: given as Time })
  async waitTime(_value: unknown): Promise<void> {
    return Promise.resolve();
  }

  @Locked()
  async count(_of: string): Promise<LockHandle> {
    return Promise.resolve(currentLock());
  }

  @Locked({ waitTime: 0 })
  async countNow(): Promise<LockHandle> {
    return Promise.resolve(currentLock());
  }
}

@Injectable()
class BigShop extends Shop {}

@Controller()
class Pages {
  @Get()
  @Locked({ key: 'page', label: (name: string) => `page of ${name}` })
  async show(@Query('name') _name: string): Promise<string> {
    return Promise.resolve(`${currentLock().key} ${String(currentLock('page').isHeld)}`);
  }
}

describe('options of @Locked', () => {
  const apps = new HttpApps();

  const start = async (): Promise<{ app: HttpApp; shop: Shop; seen: LockEvent[] }> => {
    const app = await apps.start({
      imports: [
        DistributedLockModule.forRoot({ store: 'memory', waitTime: 20 }),
        DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }),
      ],
      providers: [Shop, BigShop],
      controllers: [Pages],
    });
    const seen: LockEvent[] = [];
    app.locks.events.subscribe((event) => seen.push(event));
    return { app, shop: app.nest.get(Shop), seen };
  };

  it("B31: the key function receives the method's arguments, and its instance as this", async () => {
    const { shop } = await start();
    expect(await shop.byKey('a', 3)).toBe('50000:a:3');
    expect(await shop.byKey('a')).toBe('50000:a:all');
    expect(shop.calls).toEqual([
      ['a', 3],
      ['a', undefined],
    ]);
  });

  it.each([
    ['no key', undefined, 'the key must be a string; got undefined'],
    ['keys with an empty one', ['', 'a'], 'the key must not be empty'],
  ])(
    'B31: %s is rejected with the names of class and method, nothing is locked or run',
    async (_, key, why) => {
      const { shop, seen } = await start();
      const error = (await rejectionOf(shop.key(key))) as Error;
      expect(error).toBeInstanceOf(LockOptionsError);
      expect(error.message).toMatch(/^@Locked on Shop\.key(, key \d of the array)?: /);
      expect(error.message).toContain(why);
      expect([shop.calls, seen]).toEqual([[], []]);
    },
  );

  it('B31: an error of the key function passes through, nothing is locked or run', async () => {
    const { shop, seen } = await start();
    expect(await rejectionOf(shop.throwing())).toEqual(new TypeError('no sku'));
    expect([shop.calls, seen]).toEqual([[], []]);
  });

  it('B38, B55: mode, limit and permits are those of withLock', async () => {
    const { app, shop } = await start();
    expect(await rejectionOf(shop.read())).toBeInstanceOf(LockUpgradeError);
    await shop.book(async () => expect(app.admin.held()).toMatchObject([{ limit: 3, permits: 2 }]));
    const work = () => Promise.resolve();
    const holder = await app.locks.acquire('kind', { limit: 3, permits: 2 });
    expect(await rejectionOf(shop.book(work))).toBeInstanceOf(LockTimeoutError);
    await holder.release();
    await using _other = await app.locks.acquire('kind', { limit: 2 });
    expect(await rejectionOf(shop.book(work))).toBeInstanceOf(LockConflictError);
  });

  it("B39: are functions of the method's arguments, whose this is the instance", async () => {
    const { app, shop, seen } = await start();
    await using holder = await app.locks.acquire('stock');
    const taking = shop.take('a', 60_000);
    await until('it waits', () => app.admin.waiting().length === 1);
    expect(app.admin.waiting()).toMatchObject([{ waitTime: 50_000, label: 'stock of a' }]);
    await holder.release();
    await taking;
    await shop.take('b', 40_000);
    const granted = seen.flatMap((event) => (event.type === 'granted' ? [event] : []));
    expect(granted.slice(1)).toMatchObject([
      { label: 'stock of a', operation: 'first' },
      { label: 'stock of b', operation: 'other' },
    ]);
  });

  it('B39: a function may leave an option to its default', async () => {
    const { app, shop } = await start();
    await using holder = await app.locks.acquire('stock');
    const error = await rejectionOf(shop.wait(undefined));
    expect((error as LockTimeoutError).waitedFor).toBeGreaterThanOrEqual(20);
    const waiting = shop.wait(60_000);
    await holder.release();
    expect(await waiting).toBe('got it');
  });

  it('B39: holdAtLeast of the call keeps the lock after it', async () => {
    const { app, shop } = await start();
    await shop.atLeast(0);
    expect(await app.locks.isLocked('stock')).toBe(false);
    await shop.atLeast(60_000);
    expect(await app.locks.isLocked('stock')).toBe(true);
  });

  it('B39: on handlers and streams', async () => {
    const { app, shop, seen } = await start();
    expect((await app.get('/?name=ann')).text).toBe('page true');
    expect(await lastValueFrom(shop.stream('a'))).toBe('stock');
    expect(seen).toMatchObject([
      { type: 'granted', label: 'page of ann' },
      { type: 'released' },
      { type: 'granted', label: 'stream of a' },
      { type: 'released' },
    ]);
  });

  it.each([
    ['label', Promise.resolve('x'), /label must be/],
    ['waitTime', -1, /waitTime must be .*; got -1/],
  ] as const)(
    'B39: a bad value of %s is rejected with the names of class and method',
    async (name, value, rule) => {
      const { shop, seen } = await start();
      const error = (await rejectionOf(shop[name](value))) as Error;
      expect(error).toBeInstanceOf(LockOptionsError);
      expect(error.message).toMatch(rule);
      expect(error.message).toContain(`@Locked on Shop.${name}: `);
      expect(seen).toEqual([]);
    },
  );

  it('B38: without a key, the key is that of class and method, whatever the arguments', async () => {
    const { app, shop } = await start();
    expect((await shop.count('a')).key).toBe('Shop.count');
    expect((await shop.countNow()).key).toBe('Shop.countNow');
    expect((await app.nest.get(BigShop).count('b')).key).toBe('Shop.count');
    await using _holder = await app.locks.acquire('Shop.count');
    expect(await rejectionOf(shop.count('c'))).toBeInstanceOf(LockTimeoutError);
  });

  it('B38: a class without a name needs a key', () => {
    const { prototype } = (() =>
      class {
        async act(): Promise<void> {
          return Promise.resolve();
        }
      })();
    Object.defineProperty(prototype.constructor, 'name', { value: '' });
    const locked = Locked() as unknown as MethodDecorator;
    const define = (): unknown =>
      locked(prototype, 'act', Object.getOwnPropertyDescriptor(prototype, 'act') ?? {});
    expect(define).toThrow('give a key, since the class has no name');
  });

  it('B57: currentLock() and current() report the loss of the innermost hold, with its reason', async () => {
    const { app } = await start();
    const billing = app.nest.get<LockService>(getLockServiceToken('billing'));
    const expectLost = (call: () => unknown): void => {
      expect(call).toThrow(LockLostError);
      expect(call).toThrow(expect.objectContaining({ reason: 'taken', keys: ['b'] }));
    };
    await app.locks.withLock('a', (outer) =>
      app.locks.withLock('b', async (inner) => {
        await app.admin.forceRelease('b');
        await until('it is lost', () => !inner.isHeld);
        expectLost(() => currentLock());
        expectLost(() => currentLock('b'));
        expectLost(() => app.locks.current());
        expectLost(() => app.locks.current('b'));
        // Other holds, and a new one of the same key, are as before.
        expect(currentLock('a')).toBe(outer);
        expect(billing.current()).toBeUndefined();
        await app.locks.withLock('b', (again) => {
          expect(currentLock()).toBe(again);
          expect(app.locks.current('b')).toBe(again);
        });
        await inner.release();
        expectLost(() => currentLock('b'));
      }),
    );
    await app.locks.withLock(['b', 'c'], async (both) => {
      await app.admin.forceRelease('b');
      await until('it is lost', () => !both.isHeld);
      expectLost(() => currentLock());
      expectLost(() => currentLock('b'));
      expect(currentLock('c').isHeld).toBe(true);
    });
    expect(() => currentLock('b')).toThrow(LockNotHeldError);
  });

  it('B57: currentLock() is the innermost hold of the running code, of any module instance', async () => {
    const { app } = await start();
    const billing = app.nest.get<LockService>(getLockServiceToken('billing'));
    await app.locks.withLock('a', async (outer) => {
      expect(currentLock()).toBe(outer);
      await billing.withLock('b', async (inner) => {
        expect(currentLock()).toBe(inner);
        expect(currentLock('a')).toBe(outer);
        expect(currentLock('b').token).toBe(inner.token);
        await inner.release();
        expect(currentLock()).toBe(outer);
      });
      expect(() => currentLock('b')).toThrow(LockNotHeldError);
      expect(() => currentLock('b')).toThrow('The lock "b" is not held here. Call currentLock() inside');
    });
    await app.locks.withLock(['a', 'b'], (both) => {
      expect(currentLock()).toBe(both);
      expect(currentLock('b').token).toBe(both.tokens.get('b'));
    });
    const opened = await app.locks.acquire('c');
    expect(() => currentLock()).toThrow(LockNotHeldError);
    expect(() => currentLock()).toThrow('No lock is held here');
    await opened.run(() => expect(currentLock()).toBe(opened));
    await opened.release();
    expect(() => currentLock('')).toThrow(LockOptionsError);
  });
});
