import { Controller, Get, Injectable, Param } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { defer, firstValueFrom, Observable, of, Subject, toArray } from 'rxjs';
import {
  DistributedLockModule,
  Locked,
  LockOptionsError,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
} from '../../../lib/index.js';
import { freePort } from '../../support/free-port.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf, until } from '../../support/until.js';
import { Gate } from './gate.js';
import { HttpApps, type HttpApp } from './http-app.js';

interface Order {
  readonly id: string;
}

const both = (a: Order, b: Order): string[] => [`order:${a.id}`, `order:${b.id}`];
const [first, second]: [Order, Order] = [{ id: '1' }, { id: '2' }];
const KEYS = ['order:1', 'order:2'];

@Injectable()
class Merging {
  gate: Gate | undefined;
  source = new Subject<string>();
  calls = 0;

  constructor(private readonly locks: LockService) {}

  @Locked({ key: both })
  async merge(a: Order, b: Order): Promise<readonly (readonly string[])[]> {
    this.calls += 1;
    await this.gate?.pass();
    // Re-entry of one of them, and of both.
    const inner = await this.locks.withLock([`order:${b.id}`], { waitTime: 0 }, ({ keys }) => keys);
    const again = await this.locks.withLock(both(b, a), { waitTime: 0 }, ({ keys }) => keys);
    return [this.locks.current()?.keys ?? [], inner, again];
  }

  @Locked({ key: ['order:2', 'order:1', 'order:2'], waitTime: 0 })
  async fixed(): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.locks.current()?.keys);
  }

  @Locked({ key: both, waitTime: 0, onBusy: 'skip' })
  async skipping(_a: Order, _b: Order): Promise<string | undefined> {
    this.calls += 1;
    return Promise.resolve('done');
  }

  @Locked({ key: both, waitTime: 0, onBusy: (a: Order, b: Order) => `busy with ${a.id} or ${b.id}` })
  async replaced(_a: Order, _b: Order): Promise<string> {
    this.calls += 1;
    return Promise.resolve('done');
  }

  @Locked({ key: both })
  follow(_a: Order, _b: Order): Observable<string> {
    return this.source;
  }

  @Locked({ key: both, waitTime: 0, onBusy: 'skip' })
  skippingStream(_a: Order, _b: Order): Observable<string> {
    return of('done');
  }

  @Locked({ key: both, waitTime: 0, onBusy: () => of('busy', 'instead') })
  replacedStream(_a: Order, _b: Order): Observable<string> {
    return of('done');
  }

  // The type is broken on purpose, as it is for callers without one.
  @Locked({ key: ((keys: unknown) => keys) as (keys: unknown) => string[] })
  async odd(_keys: unknown): Promise<void> {
    this.calls += 1;
    return Promise.resolve();
  }
}

@Controller()
class Orders {
  readonly gate = new Gate();

  constructor(private readonly locks: LockService) {}

  @Get('merge/:a/:b')
  @Locked({ key: (a: string, b: string) => [`order:${b}`, `order:${a}`] })
  async merge(@Param('a') _a: string, @Param('b') _b: string): Promise<readonly unknown[]> {
    await this.gate.pass();
    const inner = await this.locks.withLock('order:2', { waitTime: 0 }, ({ token }) => token);
    const lock = this.locks.current();
    return [lock?.keys, lock?.isHeld, lock?.tokens.get('order:2') === inner];
  }

  @Get('stream/:a/:b')
  @Locked({ key: (a: string, b: string) => [`order:${b}`, `order:${a}`] })
  stream(@Param('a') _a: string, @Param('b') b: string): Observable<unknown> {
    // It is subscribed after the method has returned.
    return defer(() =>
      this.locks.withLock(`order:${b}`, { waitTime: 0 }, ({ keys }) => [keys, this.locks.current()?.keys]),
    );
  }

  @Get('skip/:a/:b')
  @Locked({ key: (a: string, b: string) => [`order:${b}`, `order:${a}`], waitTime: 0, onBusy: 'skip' })
  async skip(@Param('a') _a: string, @Param('b') _b: string): Promise<string | undefined> {
    return Promise.resolve('done');
  }

  @Get('instead/:a/:b')
  @Locked({
    key: (a: string, b: string) => [`order:${b}`, `order:${a}`],
    waitTime: 0,
    onBusy: (a: string, b: string) => ({ busy: [a, b] }),
  })
  async instead(@Param('a') _a: string, @Param('b') _b: string): Promise<unknown> {
    return Promise.resolve('done');
  }
}

describe('@Locked with several keys', () => {
  const apps = new HttpApps();
  let server: RedisServer;
  let witness: Redis;
  let app: HttpApp;
  let merging: Merging;

  beforeAll(async () => {
    server = await RedisServer.start();
    witness = server.client();
  });
  afterEach(async () => {
    await apps.close();
    await witness.flushall();
  });
  afterAll(() => server.close());

  const begin = async (redis = server.url): Promise<void> => {
    const imports = [DistributedLockModule.forRoot({ redis, waitTime: 1_000 })];
    app = await apps.start({ imports, providers: [Merging], controllers: [Orders] });
    merging = app.nest.get(Merging);
  };
  const locked = (): Promise<number> => witness.exists(...KEYS.map((key) => `lock:${key}`));

  it('B12, B31: all keys of the key function are held during the call, and re-entered inside', async () => {
    await begin();
    merging.gate = new Gate();
    const merged = merging.merge(second, first);
    await merging.gate.reached;
    expect(await locked()).toBe(2);
    expect(await app.locks.tryAcquire('order:2')).toBeNull();
    merging.gate.open();
    expect(await merged).toEqual([KEYS, ['order:1'], KEYS]);
    // The call does not wait for the reply to its release (P22).
    await until('the keys are free', async () => (await locked()) === 0);
    expect(await merging.fixed()).toEqual(KEYS);
  });

  it('B36: onBusy applies when any of them is busy, and the others are free then', async () => {
    await begin();
    for (const busy of KEYS) {
      const holder = await app.locks.acquire(busy);
      expect(await merging.skipping(first, second)).toBeUndefined();
      expect(await merging.replaced(first, second)).toBe('busy with 1 or 2');
      expect(await rejectionOf(merging.fixed())).toBeInstanceOf(LockTimeoutError);
      expect(await firstValueFrom(merging.skippingStream(first, second).pipe(toArray()))).toEqual([]);
      expect(await firstValueFrom(merging.replacedStream(first, second).pipe(toArray()))).toEqual([
        'busy',
        'instead',
      ]);
      expect(await locked()).toBe(1);
      await holder.release();
    }
    expect(merging.calls).toBe(0);
    expect(await merging.skipping(first, second)).toBe('done');
    expect(await firstValueFrom(merging.skippingStream(first, second).pipe(toArray()))).toEqual(['done']);
    expect(await locked()).toBe(0);
  });

  it('B36: onBusy does not apply to an unreachable store', async () => {
    await begin(`redis://127.0.0.1:${String(await freePort())}`);
    expect(await rejectionOf(merging.skipping(first, second))).toBeInstanceOf(LockUnavailableError);
    expect(await rejectionOf(merging.replaced(first, second))).toBeInstanceOf(LockUnavailableError);
    expect(
      await rejectionOf(firstValueFrom(merging.skippingStream(first, second), { defaultValue: 'nothing' })),
    ).toBeInstanceOf(LockUnavailableError);
  });

  it('B34: a stream holds all of them from its subscription to its end', async () => {
    await begin();
    const granted = app.next('granted', 'order:2');
    const values: string[] = [];
    const ended = new Promise<void>((resolve) => {
      merging.follow(first, second).subscribe({ next: (value) => values.push(value), complete: resolve });
    });
    await granted;
    expect(await locked()).toBe(2);
    merging.source.next('a value');
    merging.source.complete();
    await ended;
    expect(values).toEqual(['a value']);
    await until('the keys are free', async () => (await locked()) === 0);
  });

  it('B33: a handler holds all of them until its response, and re-enters each', async () => {
    await begin();
    const { gate } = app.nest.get(Orders);
    const answer = app.get('/merge/1/2');
    await gate.reached;
    expect(await locked()).toBe(2);
    gate.open();
    expect((await answer).body).toEqual([KEYS, true, true]);
    expect(await locked()).toBe(0);
  });

  it('B33, B50: the stream of a handler holds all of them, and re-enters each', async () => {
    await begin();
    expect((await app.get('/stream/1/2')).body).toEqual([['order:2'], ['order:2']]);
    // The client may see the end of the stream before the locks are released.
    await until('the locks are released', async () => (await locked()) === 0);
  });

  it('B36: onBusy answers the request of a handler when any of them is busy', async () => {
    await begin();
    for (const busy of KEYS) {
      const holder = await app.locks.acquire(busy);
      expect(await app.get('/skip/1/2')).toMatchObject({ status: 200, text: '' });
      expect((await app.get('/instead/1/2')).body).toEqual({ busy: ['1', '2'] });
      expect(await locked()).toBe(1);
      await holder.release();
    }
    expect((await app.get('/skip/1/2')).text).toBe('done');
    expect(await locked()).toBe(0);
  });

  it('B31: invalid keys are rejected, naming class and method, and nothing is locked or run', async () => {
    await begin();
    const cases: [unknown, string][] = [
      [[], '@Locked on Merging.odd: the array of keys must not be empty'],
      [
        ['a', undefined],
        '@Locked on Merging.odd, key 2 of the array: the key must be a string; got undefined',
      ],
      [['', 'a'], '@Locked on Merging.odd, key 1 of the array: the key must not be empty'],
      [{ 0: 'a' }, '@Locked on Merging.odd: the key must be a string; got an object'],
    ];
    for (const [keys, message] of cases) {
      const error = await rejectionOf(merging.odd(keys));
      expect(error).toBeInstanceOf(LockOptionsError);
      expect((error as Error).message).toContain(message);
    }
    expect(merging.calls).toBe(0);
    expect(await witness.keys('*')).toEqual([]);
  });

  it('B38: bad arrays of keys are rejected when the class is defined', () => {
    for (const key of [[], ['a', ''], [7]]) {
      expect(() => {
        class Bad {
          @Locked({ key: key as string[] })
          async act(): Promise<void> {
            return Promise.resolve();
          }
        }
        return Bad;
      }).toThrow(/@Locked on Bad\.act.*(must not be empty|must be a string)/);
    }
  });
});
