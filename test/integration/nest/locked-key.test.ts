import { Injectable } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { DistributedLockModule, Locked, LockOptionsError, LockService } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

type KeySource = (sku: unknown) => string;

@Injectable()
class Shop {
  readonly prefix = 'shop';
  readonly calls: unknown[] = [];

  constructor(private readonly locks: LockService) {}

  @Locked({
    key(this: Shop, { sku }: { sku: string }, amount?: number) {
      return `${this.prefix}:${sku}:${amount ?? 'all'}`;
    },
  })
  async own(order: { sku: string }, amount?: number): Promise<string | undefined> {
    this.calls.push([order, amount]);
    return Promise.resolve(this.locks.current()?.key);
  }

  // The type is broken on purpose, as it is for callers without one.
  @Locked({ key: ((sku: unknown) => sku) as KeySource })
  async odd(sku: unknown): Promise<void> {
    this.calls.push(sku);
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
}

describe('the key of a locked method', () => {
  const apps = new HttpApps();
  let server: RedisServer;
  let witness: Redis;

  beforeAll(async () => {
    server = await RedisServer.start();
    witness = server.client();
  });
  afterEach(async () => {
    await apps.close();
    await witness.flushall();
  });
  afterAll(() => server.close());

  const start = async (): Promise<{ app: HttpApp; shop: Shop; granted: string[] }> => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ redis: server.url })],
      providers: [Shop],
    });
    const granted: string[] = [];
    app.locks.events.subscribe((event) => event.type === 'granted' && granted.push(event.key));
    return { app, shop: app.nest.get(Shop), granted };
  };

  it("B31: the key function receives the method's arguments, and its instance as this", async () => {
    const { shop } = await start();
    const order = { sku: 'a' };
    expect(await shop.own(order, 3)).toBe('shop:a:3');
    expect(await shop.own(order)).toBe('shop:a:all');
    expect(shop.calls).toEqual([
      [order, 3],
      [order, undefined],
    ]);
  });

  it.each([
    ['an empty key', ''],
    ['no key', undefined],
    ['null', null],
    ['a number', 7],
    ['an object', {}],
    ['a promise', Promise.resolve('k')],
    ['a lone surrogate', 'k\ud83d'],
    ['a long key', 'k'.repeat(1025)],
  ])('B31: %s is rejected with the names of class and method, nothing is locked or run', async (_, key) => {
    const { shop, granted } = await start();
    const error = await rejectionOf(shop.odd(key));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toContain('@Locked on Shop.odd');
    expect(shop.calls).toEqual([]);
    expect(granted).toEqual([]);
    expect(await witness.keys('*')).toEqual([]);
  });

  it('B31: an error of the key function passes through, nothing is locked or run', async () => {
    const { shop, granted } = await start();
    expect(await rejectionOf(shop.throwing())).toEqual(new TypeError('no sku'));
    expect(shop.calls).toEqual([]);
    expect(granted).toEqual([]);
  });
});
