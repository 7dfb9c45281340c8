import { describe, expect, it } from '@jest/globals';
import {
  EmptyError,
  Observable,
  asyncScheduler,
  concat,
  config,
  firstValueFrom,
  lastValueFrom,
  of,
  type OperatorFunction,
} from 'rxjs';
import {
  bufferCount,
  connect,
  delay,
  finalize,
  map,
  observeOn,
  scan,
  share,
  take,
  toArray,
} from 'rxjs/operators';
import type { LockEvent } from '../../../lib/index.js';
import { type LockApp, lockApps } from '../../support/lock-app.js';
import { withUncaughtCollected } from '../../support/uncaught.js';
import { elapse, rejectionOf, until } from '../../support/until.js';

const fail = (): never => {
  throw new Error('of the listener');
};
/** The result of an async function whose promise is not awaited. */
const failLater = (): unknown => Promise.resolve().then(fail);

describe('a listener of lock events', () => {
  const start = lockApps({ store: 'memory', shutdownTimeout: 0 });

  /** Uses a lock, closes the application, and returns what was uncaught meanwhile. */
  async function lifeWith(
    listen: (events: Observable<LockEvent>, app: LockApp) => void,
  ): Promise<[unknown[], LockApp]> {
    const app = await start();
    const uncaught = await withUncaughtCollected(async () => {
      listen(app.locks.events, app);
      await app.locks.withLock('key', () => undefined);
      await app.locks.withLock('key', () => undefined);
      await elapse(20); // for operators that delay
      await app.close();
      await elapse(5); // rxjs throws from a timer
    });
    expect(app.events('granted')).toHaveLength(2);
    return [uncaught, app];
  }

  /** An operator that does not use `lift`. */
  const byHand: OperatorFunction<LockEvent, string> = (source) =>
    new Observable((subscriber) =>
      source.subscribe({ next: () => subscriber.error(new Error('of the listener')) }),
    );
  const ways: Record<string, (events: Observable<LockEvent>) => unknown> = {
    'next throws': (events) => events.subscribe(fail),
    'next rejects': (events) => events.subscribe(failLater),
    'complete throws': (events) => events.subscribe({ complete: fail }),
    'an operator throws': (events) => events.pipe(map(fail)).subscribe(),
    'an operator throws, whose error handler throws': (events) =>
      events.pipe(map(fail)).subscribe({ error: fail }),
    'an operator follows a user-defined one': (events) =>
      events
        .pipe(
          byHand,
          map(({ length }) => length),
        )
        .subscribe(fail),
    'it subscribes later': (events) => events.pipe(delay(1)).subscribe(fail),
    'two share it': (events) => {
      const shared = events.pipe(share());
      return [shared.subscribe(fail), shared.pipe(map(fail)).subscribe()];
    },
    'it is connected': (events) => events.pipe(connect((shared) => shared.pipe(map(fail)))).subscribe(),
    'finalize throws': (events) => events.pipe(finalize(fail), take(1)).subscribe(),
    'finalize throws later': (events) => events.pipe(observeOn(asyncScheduler), finalize(fail)).subscribe(),
    'a user-defined teardown throws': (events) =>
      events
        .pipe((source) => new Observable((subscriber) => source.subscribe(subscriber).add(fail)))
        .subscribe(),
    'it unsubscribes and throws': (events) => {
      const subscription = events.pipe(finalize(fail)).subscribe(() => {
        subscription.unsubscribe();
        fail();
      });
    },
    'it throws a value without text': (events) =>
      events.subscribe(() => {
        throw Object.create(null);
      }),
  };

  it.each(Object.entries(ways))('F26: ends neither the process nor the application: %s', async (_, way) => {
    const configured = config.onUnhandledError;
    const [uncaught, app] = await lifeWith((events) => void way(events));
    expect(uncaught).toEqual([]);
    expect(config.onUnhandledError).toBe(configured);
    expect(app.log.matching(/lock events/).length).toBeGreaterThan(0);
  });

  it('F26: is logged with the place where it threw', async () => {
    const [, app] = await lifeWith((events) => events.subscribe(fail));
    expect(
      app.log.matching(/threw on "granted": Error: .*, at .*fail \(.*listeners\.test\.ts:\d+:\d+\)$/),
    ).not.toEqual([]);
  });

  it('F26: with an error handler receives the error of its operator, which is not logged', async () => {
    const errors: unknown[] = [];
    const [uncaught, app] = await lifeWith((events) =>
      events.pipe(map(fail), scan(String, '')).subscribe({ error: (error) => void errors.push(error) }),
    );
    expect(uncaught).toEqual([]);
    expect(errors).toEqual([new Error('of the listener')]);
    expect(app.log.matching(/lock events/)).toEqual([]);
  });

  it('F26: receives its errors by promise', async () => {
    const app = await start();
    const { events } = app.locks;
    const promises = [
      firstValueFrom(events.pipe(map(fail))),
      lastValueFrom(events.pipe(map(fail))),
      events.forEach(fail),
      lastValueFrom(events.pipe(byHand)),
    ].map(rejectionOf);
    await app.locks.withLock('key', () => undefined);
    const failure = new Error('of the listener');
    expect(await Promise.all(promises)).toEqual([failure, failure, failure, failure]);
    expect(app.log.matching(/lock events/)).toEqual([]);
  });

  it('F26: receives all events before the completion', async () => {
    const app = await start();
    const all = lastValueFrom(
      app.locks.events.pipe(
        map(({ type }) => type),
        toArray(),
      ),
    );
    const pairs = lastValueFrom(app.locks.events.pipe(bufferCount(2), toArray()));
    await app.locks.withLock('key', () => undefined);
    await app.close();
    expect(await all).toEqual(['granted', 'released']);
    expect(await pairs).toHaveLength(1);
  });

  it('F26: that subscribes after the end completes at once, and leaves nothing', async () => {
    const app = await start();
    await app.close();
    const { events } = app.locks;
    const uncaught = await withUncaughtCollected(async () => {
      let completed = 0;
      events.subscribe({ complete: () => void (completed += 1) });
      events.pipe(map(fail)).subscribe({ complete: () => void (completed += 1) });
      concat(events, of('after')).subscribe({ complete: () => void (completed += 1) });
      expect(completed).toBe(3);
      events.subscribe({ complete: fail });
      events.pipe(finalize(fail)).subscribe();
      expect(await rejectionOf(firstValueFrom(events))).toBeInstanceOf(EmptyError);
      await elapse(5);
    });
    expect(uncaught).toEqual([]);
    expect(app.log.matching(/lock events/).length).toBeGreaterThan(0);
  });

  it('B14: is removed when it unsubscribes or completes', async () => {
    const app = await start();
    const { hub } = (app.locks as unknown as { engine: { hub: { subscribers: ReadonlySet<unknown> } } })
      .engine;
    const before = hub.subscribers.size;
    const { events } = app.locks;
    for (const listen of [
      () => events.subscribe(),
      () => events.pipe(map(({ type }) => type)).subscribe(),
      () => events.pipe(byHand).subscribe(),
    ]) {
      const subscription = listen();
      expect(hub.subscribers.size).toBe(before + 1);
      subscription.unsubscribe();
      expect(hub.subscribers.size).toBe(before);
    }
    app.locks.events.pipe(take(1)).subscribe();
    await app.locks.withLock('key', () => undefined);
    expect(hub.subscribers.size).toBe(before);
    await app.close();
    await until('all are removed', () => hub.subscribers.size === 0);
  });

  it('F26: can add and remove abort listeners of a hold as of any signal', async () => {
    const app = await start();
    const handle = await app.locks.acquire('key', { leaseTime: 60 });
    const { signal } = handle;
    const calls: string[] = [];
    const twice = (): void => void calls.push('once, though added twice');
    const removed = (): void => void calls.push('removed');
    signal.addEventListener('abort', twice);
    signal.addEventListener('abort', twice);
    signal.addEventListener('abort', removed);
    signal.removeEventListener('abort', removed);
    signal.onabort = () => void calls.push('the first handler');
    signal.onabort = function (this: AbortSignal, event) {
      calls.push(`the handler: ${String(this === signal)} ${event.type}`);
    };
    const object = { handleEvent: (event: { type: string }) => void calls.push(`an object: ${event.type}`) };
    signal.addEventListener('abort', object);
    const dependent = AbortSignal.any([signal]);
    expect(signal).toBeInstanceOf(AbortSignal);
    await until('it aborts', () => signal.aborted);
    expect(calls.sort()).toEqual(['an object: abort', 'once, though added twice', 'the handler: true abort']);
    expect(dependent.aborted).toBe(true);
    expect(dependent.reason).toBe(signal.reason);
  });
});
