import { EventEmitter } from 'node:events';
import { Controller, Get, type ExecutionContext, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { defer, isObservable, mergeMap, Observable, of } from 'rxjs';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { LockInterceptor } from '../../../lib/nest/requests/lock.interceptor.js';
import { until, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { GatedStore } from './gated-store.js';
import { ADAPTERS, HttpApps, type HttpApp } from './http-app.js';
import { Visitor } from './visitor.js';

describe.each(Object.entries(ADAPTERS))(
  'the lock of a handler whose client has disconnected, on %s',
  (_, adapter) => {
    const apps = new HttpApps();
    const start = (controller: Type, store = new GatedStore()): Promise<HttpApp> =>
      apps.start(
        { imports: [DistributedLockModule.forRoot({ store })], controllers: [controller] },
        undefined,
        adapter(),
      );

    it('B33: is kept until the work of the handler ends', async () => {
      const work = new Gate();
      @Controller()
      class Things {
        @Get()
        @Locked('k')
        async show(): Promise<string> {
          await work.pass();
          return 'value';
        }
      }
      const app = await start(Things);
      const client = new Visitor(app.url('/'));
      await within(5_000, 'the work', work.reached);
      await client.leave();
      // The server has noticed the closed connection when it has answered another request.
      await app.get('/none');
      expect(await app.locks.isLocked('k')).toBe(true);
      const released = app.next('released', 'k');
      work.open();
      await within(5_000, 'the release', released);
    });

    it('B33: a client that disconnects while it waits leaves the queue, and its handler never runs', async () => {
      let runs = 0;
      @Controller()
      class Things {
        @Get()
        @Locked({ key: 'k', waitTime: 30_000 })
        async show(): Promise<string> {
          runs += 1;
          return Promise.resolve('value');
        }
      }
      const app = await start(Things);
      const holder = await app.locks.acquire('k');
      const queued = app.next('queued', 'k');
      const client = new Visitor(app.url('/'));
      await within(5_000, 'the wait', queued);
      await client.leave();
      await until('no request waits', async () => (await app.admin.inspect('k'))?.waiting === 0);
      await holder.release();
      await app.locks.withLock('k', { waitTime: 2_000 }, () => undefined);
      expect(runs).toBe(0);
      expect(app.problems).toEqual([]);
    });
  },
);

describe('the lock of a handler whose client has disconnected, even if Nest stops nothing itself', () => {
  const apps = new HttpApps();
  const work = { gate: new Gate() };
  @Controller()
  class Things {
    readonly steps: string[] = [];

    @Get('stream')
    @Locked('k')
    stream(): Observable<string> {
      return new Observable((subscriber) => {
        this.steps.push('subscribed');
        subscriber.next('first');
        return () => this.steps.push('stopped');
      });
    }

    @Get('later')
    @Locked('k')
    async later(): Promise<Observable<string>> {
      await work.gate.pass();
      return this.stream();
    }
  }

  /** Calls a handler through the interceptor, with a response whose connection the test closes. */
  const call = (things: Things, name: 'stream' | 'later', isGone = false, isAnswered = false) => {
    const response = Object.assign(new EventEmitter(), {
      writableFinished: isAnswered,
      setHeader: () => undefined,
      req: { socket: { destroyed: isGone } },
    });
    // Only the methods that the interceptor uses.
    const context = {
      getType: () => 'http',
      getHandler: () => Things.prototype[name],
      getArgByIndex: (index: number) => (index === 1 ? response : undefined),
    } as unknown as ExecutionContext;
    const handler = {
      handle: () =>
        defer(() => things[name]()).pipe(mergeMap((result) => (isObservable(result) ? result : of(result)))),
    };
    const values: unknown[] = [];
    const subscription = new LockInterceptor(() => undefined).intercept(context, handler).subscribe({
      next: (value) => values.push(value),
      complete: () => things.steps.push('ended'),
    });
    return { response, values, subscription };
  };

  const start = async () => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      controllers: [Things],
    });
    const things = app.nest.get(Things);
    app.locks.events.subscribe(({ type }) => things.steps.push(type));
    return { app, things };
  };

  it('B33: a stream is unsubscribed, then its lock is released, and then the response ends', async () => {
    const { things } = await start();
    const { response, values } = call(things, 'stream');
    await until('it has begun', () => values.length > 0);
    response.emit('close');
    await until('the end', () => things.steps.includes('ended'));
    expect(things.steps).toEqual(['granted', 'subscribed', 'stopped', 'released', 'ended']);
  });

  it('B33: a stream is unsubscribed and its lock released when an interceptor around it unsubscribes', async () => {
    const { things } = await start();
    const { response, values, subscription } = call(things, 'stream');
    await until('it has begun', () => values.length > 0);
    subscription.unsubscribe();
    await until('the release', () => things.steps.includes('released'));
    expect(things.steps).toEqual(['granted', 'subscribed', 'stopped', 'released']);
    expect(response.listenerCount('close')).toBe(0);
  });

  it('B33: a handler is not called after its client has disconnected, unless that has its response', async () => {
    const { things } = await start();
    call(things, 'stream', true);
    expect(things.steps).toEqual(['ended']);
    const { subscription } = call(things, 'stream', true, true);
    await until('it has begun', () => things.steps.includes('subscribed'));
    subscription.unsubscribe();
  });

  it('B33: a stream that is created after the client has disconnected is not subscribed', async () => {
    const { app, things } = await start();
    work.gate = new Gate();
    const { response, values } = call(things, 'later');
    await work.gate.reached;
    response.emit('close');
    expect(await app.locks.isLocked('k')).toBe(true);
    work.gate.open();
    await until('the end', () => things.steps.includes('ended'));
    expect(things.steps).toEqual(['granted', 'released', 'ended']);
    expect(values).toHaveLength(0);
  });
});
