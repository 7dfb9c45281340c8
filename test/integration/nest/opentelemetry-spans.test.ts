import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel';
import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SpanStatusCode, trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { lastValueFrom, Observable } from 'rxjs';
import {
  DistributedLockModule,
  getLockAdminToken,
  getLockServiceToken,
  Locked,
  LockAdmin,
  LockService,
  type HoldTrace,
  type LockHandle,
  type LockOptions,
} from '../../../lib/index.js';
import { LockOpenTelemetryModule, type LockOpenTelemetryOptions } from '../../../lib/opentelemetry/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { next, rejectionOf, until } from '../../support/until.js';
import type { HttpApp } from './http-app.js';
import { startTraced, Telemetry } from './traced-app.js';

/** The id of the span around the running code. */
const around = (): string | undefined => trace.getActiveSpan()?.spanContext().spanId;
const idOf = (span: ReadableSpan): string => span.spanContext().spanId;
const parentOf = (span: ReadableSpan): string | undefined => span.parentSpanContext?.spanId;

@Injectable()
class Stock {
  readonly seen: (string | undefined)[] = [];

  constructor(private readonly locks: LockService) {}

  @Locked({ key: (sku: string) => `stock:${sku}` })
  async take(sku: string): Promise<string> {
    await new Promise((resolve) => setImmediate(resolve));
    this.seen.push(around());
    return await this.locks.withLock(`shelf:${sku}`, { operation: 'shelf' }, () => {
      this.seen.push(around());
      return sku;
    });
  }

  @Locked({ key: (sku: string) => `stock:${sku}`, operation: 'stream' })
  levels(sku: string): Observable<string> {
    return new Observable((subscriber) => {
      setImmediate(() => {
        this.seen.push(around());
        subscriber.next(sku);
        subscriber.complete();
      });
    });
  }
}

@Controller()
class Orders {
  constructor(private readonly stock: Stock) {}

  @Get('order')
  @Locked('order')
  async order(): Promise<string> {
    this.stock.seen.push(around());
    return await this.stock.take('secret');
  }
}

describe('O11: spans of OpenTelemetry', () => {
  let telemetry: Telemetry;
  let store: TestLockStore;
  let app: HttpApp;
  let locks: LockService;
  beforeEach(() => {
    telemetry = new Telemetry();
    telemetry.begin();
    store = new TestLockStore();
  });
  afterEach(async () => {
    await app.close();
    telemetry.end();
  });

  const start = async (options: LockOpenTelemetryOptions = {}): Promise<void> => {
    @Module({
      imports: [
        DistributedLockModule.forRoot({ store, shutdownTimeout: 0 }),
        DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }),
        LockOpenTelemetryModule.forRoot(options),
      ],
      controllers: [Orders],
      providers: [Stock],
    })
    class App {}
    app = await startTraced(telemetry, { imports: [App] });
    locks = app.locks;
  };

  it('a request with free locks has a span for the work under each, active around it, inside that of the caller', async () => {
    await start();
    expect((await app.get('/order')).text).toBe('secret');
    const names = ['lock hold shelf', 'lock hold Stock.take', 'lock hold Orders.order'];
    expect(telemetry.spans.map(({ name }) => name).filter((name) => name.startsWith('lock'))).toEqual(names);
    const [shelf, stock, order] = names.map((name) => telemetry.span(name)) as [
      ReadableSpan,
      ReadableSpan,
      ReadableSpan,
    ];
    const request = telemetry.span('GET /order');
    expect([parentOf(order), parentOf(stock), parentOf(shelf)]).toEqual([
      idOf(request),
      idOf(order),
      idOf(stock),
    ]);
    expect(app.nest.get(Stock).seen).toEqual([idOf(order), idOf(stock), idOf(shelf)]);
    expect(new Set([request, order, stock, shelf].map((span) => span.spanContext().traceId)).size).toBe(1);
    expect(order.attributes).toEqual({
      'distributed_lock.operation': 'Orders.order',
      'distributed_lock.mode': 'exclusive',
    });
    expect(order.status.code).toBe(SpanStatusCode.UNSET);
  });

  it('a call that waits has a span from the call to the grant, in addition to that of its work', async () => {
    await start();
    const holder = await store.hold('stock:secret');
    const taking = telemetry.inSpan('job', () => app.nest.get(Stock).take('secret'));
    await until('it waits', () => app.admin.waiting().length === 1);
    await holder.release();
    await taking;
    const [acquire, hold, job] = ['lock acquire Stock.take', 'lock hold Stock.take', 'job'].map((name) =>
      telemetry.span(name),
    ) as [ReadableSpan, ReadableSpan, ReadableSpan];
    expect([parentOf(acquire), parentOf(hold)]).toEqual([idOf(job), idOf(job)]);
    expect(acquire.events.map(({ name }) => name)).toEqual(['queued']);
    expect(acquire.attributes).toMatchObject({
      'distributed_lock.operation': 'Stock.take',
      'distributed_lock.mode': 'exclusive',
      'distributed_lock.outcome': 'granted',
      'distributed_lock.wait_time': 5,
    });
    expect(acquire.status.code).toBe(SpanStatusCode.UNSET);
    expect(telemetry.named('lock acquire shelf')).toEqual([]);
  });

  it.each<[string, string | string[], LockOptions]>([
    ['with retry', 'k', { retry: {} }],
    ['for several keys', ['a', 'k'], {}],
  ])('a call %s has the span of a wait, too', async (_, key, options) => {
    await start();
    const holder = await store.hold('k');
    const taking = locks.withLock(key, { ...options, operation: 'poll' }, () => undefined);
    await until('it waits', () => app.admin.waiting().length === 1);
    await holder.release();
    await taking;
    expect(telemetry.span('lock acquire poll').events.map(({ name }) => name)).toEqual(['queued']);
  });

  it('a skip is no error, and has a span only if it waited', async () => {
    await start();
    const holder = await store.hold('k');
    expect(await locks.tryAcquire('k', { operation: 'cron' })).toBeNull();
    expect(telemetry.spans).toEqual([]);
    const trying = locks.tryAcquire('k', { operation: 'cron', waitTime: 60_000 });
    await until('it waits', () => app.admin.waiting().length === 1);
    await store.advance(60_000);
    expect(await trying).toBeNull();
    const span = telemetry.span('lock acquire cron');
    expect(span.attributes['distributed_lock.outcome']).toBe('skipped');
    expect([span.status.code, span.events.map(({ name }) => name)]).toEqual([
      SpanStatusCode.UNSET,
      ['queued'],
    ]);
    await holder.release();
  });

  it('a call that fails has a span with the error, without the key', async () => {
    await start();
    const holder = await store.hold('secret');
    await rejectionOf(locks.acquire('secret', { waitTime: 0, label: 'for a secret' }));
    const span = telemetry.span('lock acquire default');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'LOCK_TIMEOUT' });
    expect(span.attributes).toMatchObject({
      'distributed_lock.outcome': 'timeout',
      'error.type': 'LockTimeoutError',
    });
    await rejectionOf(locks.withLock('other', () => locks.acquire('secret', { waitTime: 0 })));
    expect(telemetry.span('lock hold default').status.message).toBe('LOCK_TIMEOUT');
    const { status, attributes, events } = span;
    for (const each of [...telemetry.spans, { status, attributes, events, name: '' }]) {
      expect(JSON.stringify([each.name, each.status, each.attributes, each.events])).not.toContain('secret');
    }
    await holder.release();
  });

  it('an error of the work is the error of its span', async () => {
    await start();
    await rejectionOf(
      locks.withLock('k', () => {
        throw new TypeError('of the work');
      }),
    );
    const span = telemetry.span('lock hold default');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'of the work' });
    expect(span.events).toMatchObject([
      { name: 'exception', attributes: { 'exception.message': 'of the work' } },
    ]);
  });

  it('spans have keys and messages with recordKeys: true', async () => {
    await start({ recordKeys: true });
    const holder = await store.hold('b');
    await rejectionOf(locks.acquire(['b', 'a'], { waitTime: 0 }));
    const span = telemetry.span('lock acquire default');
    expect(span.attributes['distributed_lock.keys']).toEqual(['a', 'b']);
    expect(span.status.message).toContain('The lock "b"');
    await holder.release();
  });

  it("with spans: 'none' there are no spans, and with a tracerProvider they go there", async () => {
    await start({ spans: 'none' });
    await locks.withLock('k', () => undefined);
    expect(telemetry.spans).toEqual([]);
    await app.close();
    const other = new Telemetry();
    store = new TestLockStore();
    await start({ tracerProvider: other.tracers });
    await locks.withLock('k', () => undefined);
    expect([telemetry.spans.length, other.spans.length]).toEqual([0, 1]);
  });

  it('a failed renewal and the loss are events of the span of the work, and of re-entering work inside it', async () => {
    await start();
    const told: string[] = [];
    await locks.withLock('k', { operation: 'outer' }, async (outer) => {
      await locks.withLock('k', { operation: 'inner' }, async () => {
        store.setUnavailable();
        const failed = next(locks.events, ({ type }) => type === 'renewal-failed');
        await store.advance(10_000);
        await failed;
        const lost = next(locks.events, ({ type }) => type === 'lost');
        await store.advance(20_000);
        await lost;
        told.push(outer.isHeld ? 'held' : 'lost');
        store.setAvailable();
      });
    });
    expect(told).toEqual(['lost']);
    // Both use one hold, which has the name of the first call.
    const spans = telemetry.named('lock hold outer');
    expect(spans.map(({ name }) => name)).toEqual(telemetry.spans.map(({ name }) => name));
    expect(spans).toHaveLength(2);
    for (const { events, attributes, status } of spans) {
      const kinds = events.map((event) => event.name);
      expect([kinds[0], kinds.at(-1)]).toEqual(['renewal-failed', 'lost']);
      expect(events.at(-1)?.attributes).toEqual({ 'distributed_lock.reason': 'unreachable' });
      expect(events[0]?.attributes).toEqual({ 'error.type': expect.any(String) });
      expect(attributes['distributed_lock.outcome']).toBe('lost');
      expect(status.code).toBe(SpanStatusCode.UNSET);
    }
  });

  it('with several module instances each span names its own, and has no events of others', async () => {
    await start();
    const billing = app.nest.get<LockService>(getLockServiceToken('billing'));
    await billing.withLock('k', { operation: 'invoice' }, async (inner) => {
      await locks.withLock('k', { operation: 'order' }, async (own) => {
        const lost = next(billing.events, ({ type }) => type === 'lost');
        await app.nest.get<LockAdmin>(getLockAdminToken('billing')).forceRelease('k');
        await lost;
        expect([inner.isHeld, own.isHeld]).toEqual([false, true]);
      });
    });
    const [order, invoice] = [telemetry.span('lock hold order'), telemetry.span('lock hold invoice')];
    expect(order.events).toEqual([]);
    expect(order.attributes).not.toHaveProperty('distributed_lock.instance');
    expect(invoice.events.map(({ name }) => name)).toEqual(['lost']);
    expect(invoice.attributes['distributed_lock.instance']).toBe('billing');
  });

  it('the span of a stream of a service lasts until its end, and covers its creation', async () => {
    await start();
    const stock = app.nest.get(Stock);
    await telemetry.inSpan('job', () => lastValueFrom(stock.levels('secret')));
    const span = telemetry.span('lock hold stream');
    expect(stock.seen).toEqual([idOf(span)]);
    expect(parentOf(span)).toBe(idOf(telemetry.span('job')));
  });

  it('work by handle.run() has a span; a hold without work has none', async () => {
    await start();
    const handle: LockHandle = await locks.acquire('k');
    expect(telemetry.spans).toEqual([]);
    let active: string | undefined;
    await handle.run(() => {
      active = around();
    });
    expect(active).toBe(idOf(telemetry.span('lock hold default')));
    await handle.release();
  });

  it('spans keep the context that another subscriber sets for the work', async () => {
    await start();
    const channel = tracingChannel<unknown, HoldTrace>('nestjs-distributed-lock:hold');
    const steps: string[] = [];
    const other = (message: unknown): void => {
      const hold = message as HoldTrace;
      const { around: outer } = hold;
      hold.around = async (work) => {
        steps.push('before');
        const result = await (outer === undefined ? work() : outer(work));
        steps.push('after');
        return result;
      };
    };
    subscribe(channel.start.name, other);
    try {
      await locks.withLock('k', () => steps.push(around() === undefined ? 'without' : 'with'));
    } finally {
      unsubscribe(channel.start.name, other);
    }
    expect(steps).toEqual(['before', 'with', 'after']);
  });

  it('spans end with the application', async () => {
    await start();
    await app.close();
    const { start: hold, asyncEnd } = tracingChannel('nestjs-distributed-lock:hold');
    expect([hold.hasSubscribers, asyncEnd.hasSubscribers]).toEqual([false, false]);
  });
});
