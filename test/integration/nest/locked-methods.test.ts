import { Injectable, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  backoff,
  Locked,
  LockLostError,
  LockOptionsError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
} from '../../../lib/index.js';
import type { LockStore } from '../../../lib/stores/port/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { rejectionOf, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { HttpApps, type HttpApp } from './http-app.js';

@Injectable()
class Shop {
  readonly prefix = 'shop';
  readonly calls: unknown[] = [];
  gate: Gate | undefined;

  constructor(private readonly locks: LockService) {}

  @Locked({ key: 'busy', waitTime: 20 })
  async refusing(): Promise<string> {
    this.calls.push('refusing');
    return Promise.resolve('done');
  }

  @Locked({ key: 'busy', waitTime: 0, onBusy: 'skip' })
  async skipping(): Promise<string | undefined> {
    this.calls.push('skipping');
    return Promise.resolve('done');
  }

  @Locked({
    key: 'busy',
    waitTime: 0,
    onBusy(this: Shop, sku: string, amount: number) {
      return Promise.resolve(`${this.prefix} was busy with ${amount} ${sku}`);
    },
  })
  async replaced(sku: string, amount: number): Promise<string> {
    this.calls.push([sku, amount]);
    return Promise.resolve('done');
  }

  @Locked({ key: 'outer', waitTime: 0, onBusy: 'skip' })
  async nested(): Promise<string | undefined> {
    return this.locks.withLock('busy', { waitTime: 0 }, () => 'done');
  }

  @Locked({ key: 'lost', leaseTime: 400, onLost: 'throw' })
  async losing(): Promise<string> {
    await this.gate?.pass();
    return 'the value';
  }

  @Locked({ key: 'lost', leaseTime: 400 })
  async losingQuietly(): Promise<string> {
    await this.gate?.pass();
    return 'the value';
  }

  @Locked('failing')
  async failing(error: Error): Promise<void> {
    return Promise.reject(error);
  }

  @Locked('synchronous')
  thrown(error: Error): Promise<void> {
    throw error;
  }
}

describe('a locked method', () => {
  const apps = new HttpApps();
  const start = async (store: 'memory' | LockStore = 'memory'): Promise<{ app: HttpApp; shop: Shop }> => {
    const app = await apps.start({ imports: [DistributedLockModule.forRoot({ store })], providers: [Shop] });
    return { app, shop: app.nest.get(Shop) };
  };

  it('B36: by default a busy lock is a LockTimeoutError after waitTime', async () => {
    const { app, shop } = await start();
    const holder = await app.locks.acquire('busy');
    const error = await rejectionOf(shop.refusing());
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ keys: ['busy'] });
    expect(shop.calls).toEqual([]);
    await holder.release();
    expect(await shop.refusing()).toBe('done');
  });

  it("B36: onBusy 'skip' and a function decide the result without calling the method", async () => {
    const { app, shop } = await start();
    const holder = await app.locks.acquire('busy');
    expect(await shop.skipping()).toBeUndefined();
    expect(await shop.replaced('pens', 3)).toBe('shop was busy with 3 pens');
    expect(shop.calls).toEqual([]);
    await holder.release();
    expect(await shop.skipping()).toBe('done');
    expect(await shop.replaced('pens', 3)).toBe('done');
  });

  it('B36: a timeout of another lock inside the method is not "busy"', async () => {
    const { app, shop } = await start();
    const holder = await app.locks.acquire('busy');
    const error = await rejectionOf(shop.nested());
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ keys: ['busy'] });
    await holder.release();
    expect(await shop.nested()).toBe('done');
  });

  it('B36: an unreachable store is not "busy"', async () => {
    const store = new TestLockStore();
    store.setUnavailable();
    const { shop } = await start(store);
    expect(await rejectionOf(shop.skipping())).toBeInstanceOf(LockUnavailableError);
    expect(await rejectionOf(shop.replaced('pens', 1))).toBeInstanceOf(LockUnavailableError);
    expect(shop.calls).toEqual([]);
  });

  it('B36: a full queue is not "busy"', async () => {
    const calls: string[] = [];
    @Injectable()
    class Crowded {
      @Locked({ key: 'busy', maxWaiting: 0, onBusy: () => calls.push('onBusy') })
      async work(): Promise<number> {
        return Promise.resolve(calls.push('work'));
      }
    }
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Crowded],
    });
    await using _holder = await app.locks.acquire('busy');
    const error = await rejectionOf(app.nest.get(Crowded).work());
    expect(error).toMatchObject({ code: 'LOCK_QUEUE_FULL', keys: ['busy'], waiting: 0, maxWaiting: 0 });
    expect(calls).toEqual([]);
  });

  it('B38, B27: leaseTime and onLost are those of withLock', async () => {
    const { app, shop } = await start();
    for (const [method, outcome] of [
      ['losing', 'throws'],
      ['losingQuietly', 'returns'],
    ] as const) {
      shop.gate = new Gate();
      const result = shop[method]().catch((error: unknown) => error);
      await shop.gate.reached;
      await within(5_000, 'the loss', app.next('lost', 'lost'));
      shop.gate.open();
      if (outcome === 'returns') expect(await result).toBe('the value');
      else {
        expect(await result).toBeInstanceOf(LockLostError);
        expect(await result).toMatchObject({ result: 'the value', reason: 'expired' });
      }
    }
  });

  it('B38: retry is that of withLock, with the waitTime of the module', async () => {
    @Injectable()
    class Trying {
      @Locked({ key: 'busy', retry: { maxAttempts: 3, backoff: backoff.fixed(5) } })
      async work(): Promise<string> {
        return Promise.resolve('done');
      }
    }
    const start = async (waitTime: number): Promise<HttpApp> =>
      apps.start({
        imports: [DistributedLockModule.forRoot({ store: 'memory', waitTime })],
        providers: [Trying],
      });
    const app = await start(60_000);
    const trying = app.nest.get(Trying);
    const holder = await app.locks.acquire('busy');
    const failing = rejectionOf(trying.work());
    expect(await within(5_000, 'the end of the tries', failing)).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: expect.stringContaining('(number 3, '),
    });
    await holder.release();
    expect(await trying.work()).toBe('done');
    const hasty = await start(0);
    expect(await rejectionOf(hasty.nest.get(Trying).work())).toBeInstanceOf(LockOptionsError);
  });

  it('B35: an error of the method passes through unchanged, after the release', async () => {
    const { app, shop } = await start();
    for (const method of ['failing', 'thrown'] as const) {
      const error = new NotFoundException();
      expect(await rejectionOf(shop[method](error))).toBe(error);
      expect(app.admin.held()).toEqual([]);
    }
  });

  it('B38: bad options are rejected when the class is defined, with its name and the bound', () => {
    const define =
      (options: object): (() => void) =>
      () => {
        class Bad {
          @Locked(options as { key: string })
          async act(): Promise<void> {
            return Promise.resolve();
          }
        }
        return Bad;
      };
    const cases: [object, RegExp][] = [
      [undefined as unknown as object, /must be an object/],
      [{ key: undefined }, /key must be a string; got undefined/],
      [{ key: '' }, /must not be empty/],
      [{ key: ['a', ''] }, /must not be empty/],
      [{ key: 'k', waitTime: -1 }, /waitTime .* from 0 .*; got -1/],
      [{ key: 'k', onLost: 'die' }, /onLost must be 'report' or 'throw'; got 'die'/],
      [{ key: 'k', onBusy: 'wait' }, /onBusy must be 'throw', 'skip' or a function; got 'wait'/],
      [{ key: 'k', returns: 'stream' }, /returns must be 'promise' or 'observable'; got 'stream'/],
      [{ key: 'k', signal: undefined }, /signal would be the same for all calls/],
      [{ key: 'k', retry: 3 }, /retry must be an object .*; got 3/],
      [{ key: 'k', ttl: 5 }, /unknown option "ttl".*waitTime, maxWaiting, leaseTime/],
    ];
    for (const [options, message] of cases) {
      expect(define(options)).toThrow(LockOptionsError);
      expect(define(options)).toThrow(message);
      expect(define(options)).toThrow('@Locked on Bad.act');
    }
    expect(define({ key: 'k', instance: '' })).toThrow(/name of a lock module must be a non-empty string/);
  });

  it('B38: only methods of instances can be locked', () => {
    const locked = Locked('k') as unknown as (target: object, name: string, descriptor: object) => void;
    class Things {}
    for (const descriptor of [{ get: () => 1 }, {}, { value: 1 }]) {
      expect(() => locked(Things.prototype, 'thing', descriptor)).toThrow(
        /@Locked on Things.thing: put it on a method/,
      );
    }
  });
});
