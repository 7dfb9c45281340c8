import { isDeepStrictEqual } from 'node:util';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { metrics } from '@opentelemetry/api';
import { InstrumentType, type MetricData } from '@opentelemetry/sdk-metrics';
import {
  DistributedLockModule,
  getLockServiceToken,
  LockOptionsError,
  LockAdmin,
  LockService,
} from '../../../lib/index.js';
import { LockOpenTelemetryModule, type LockOpenTelemetryOptions } from '../../../lib/opentelemetry/index.js';
import { rejectionOf, until } from '../../support/until.js';
import { Telemetry } from './traced-app.js';

const { HISTOGRAM, COUNTER, OBSERVABLE_GAUGE, OBSERVABLE_UP_DOWN_COUNTER } = InstrumentType;

/** O10: kind and unit of each instrument. */
const TABLE: Readonly<Record<string, readonly [InstrumentType, string]>> = {
  'distributed_lock.acquire.duration': [HISTOGRAM, 's'],
  'distributed_lock.hold.duration': [HISTOGRAM, 's'],
  'distributed_lock.losses': [COUNTER, '{hold}'],
  'distributed_lock.renewal.failures': [COUNTER, '{renewal}'],
  'distributed_lock.store.request.duration': [HISTOGRAM, 's'],
  'distributed_lock.active': [OBSERVABLE_UP_DOWN_COUNTER, '{hold}'],
  'distributed_lock.permits.held': [OBSERVABLE_UP_DOWN_COUNTER, '{permit}'],
  'distributed_lock.permits.limit': [OBSERVABLE_GAUGE, '{permit}'],
  'distributed_lock.waiting': [OBSERVABLE_UP_DOWN_COUNTER, '{call}'],
  'distributed_lock.wait.oldest': [OBSERVABLE_GAUGE, 's'],
  'distributed_lock.lease.margin.min': [OBSERVABLE_GAUGE, 's'],
  'distributed_lock.lease.margin.ratio': [OBSERVABLE_GAUGE, '1'],
  'distributed_lock.store.reachable': [OBSERVABLE_GAUGE, '1'],
  'distributed_lock.local': [OBSERVABLE_GAUGE, '1'],
};

describe('O10: metrics of OpenTelemetry', () => {
  let telemetry: Telemetry;
  const endings: (() => Promise<void>)[] = [];
  beforeEach(() => {
    telemetry = new Telemetry();
  });
  afterEach(async () => {
    for (const end of endings.splice(0)) await end();
    telemetry.end();
  });

  const compile = async (...options: LockOpenTelemetryOptions[]) => {
    @Module({
      imports: [
        DistributedLockModule.forRoot({ store: 'memory' }),
        DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }),
        ...options.map((each) => LockOpenTelemetryModule.forRoot(each)),
      ],
    })
    class App {}
    const app = await Test.createTestingModule({ imports: [App] }).compile();
    endings.push(() => app.close());
    return app;
  };

  /** The value of the series with exactly these attributes, or the count of a histogram. */
  const valueOf = (metric: MetricData | undefined, attributes: Record<string, string>): unknown => {
    const points: readonly { readonly attributes: object; readonly value: unknown }[] =
      metric?.dataPoints ?? [];
    const value = points.find((point) => isDeepStrictEqual({ ...point.attributes }, attributes))?.value;
    return typeof value === 'object' ? (value as { count: number }).count : value;
  };

  it('have these names, kinds and units, and buckets from 1 ms to a minute', async () => {
    telemetry.begin();
    const app = await compile({});
    await app.init();
    const locks = app.get(LockService);
    const handle = await locks.acquire('order:secret', { operation: 'checkout' });
    await locks.acquire('licence:secret', { operation: 'licence', limit: 3, permits: 2 });
    await locks.withLock('order:other', { operation: 'checkout' }, () => undefined);
    const all = await telemetry.metrics();
    expect(
      Object.fromEntries(
        Object.entries(all).map(([name, { descriptor }]) => [
          name,
          [(descriptor as unknown as { type: InstrumentType }).type, descriptor.unit],
        ]),
      ),
    ).toEqual(TABLE);
    for (const { descriptor } of Object.values(all)) expect(descriptor.description).not.toBe('');
    const acquire = all['distributed_lock.acquire.duration'];
    const [point] = (acquire?.dataPoints ?? []) as readonly {
      value: { buckets: { boundaries: number[] } };
    }[];
    expect(point?.value.buckets.boundaries).toEqual([0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60]);
    expect(JSON.stringify(all)).not.toContain('secret');
    await handle.release();
  });

  it('have the attributes of the lock, its module and its outcome', async () => {
    telemetry.begin();
    const app = await compile({});
    await app.init();
    const plain = app.get(LockService);
    const handle = await plain.acquire('k', { operation: 'checkout' });
    await using _ofBilling = await app.get<LockService>(getLockServiceToken('billing')).acquire('k');
    await rejectionOf(plain.acquire('k', { waitTime: 0, operation: 'checkout' }));
    const lock = { 'distributed_lock.operation': 'checkout', 'distributed_lock.mode': 'exclusive' };
    const instance = { 'distributed_lock.instance': 'billing' };
    expect(valueOf((await telemetry.metrics())['distributed_lock.active'], lock)).toBe(1);
    await app.get(LockAdmin).forceRelease('k');
    await until('it is lost', () => !handle.isHeld);
    const all = await telemetry.metrics();
    const timeout = { 'distributed_lock.outcome': 'timeout', 'error.type': 'LockTimeoutError' };
    const values: [string, Record<string, string>, number][] = [
      ['acquire.duration', { ...lock, ...timeout }, 1],
      ['hold.duration', { ...lock, 'distributed_lock.outcome': 'lost' }, 1],
      ['losses', { ...lock, 'distributed_lock.reason': 'taken' }, 1],
      ['active', lock, 0],
      ['active', { ...instance, ...lock, 'distributed_lock.operation': 'default' }, 1],
      ['local', {}, 0],
      ['store.request.duration', { 'distributed_lock.request': 'force-release' }, 1],
    ];
    for (const [name, attributes, value] of values) {
      const found = valueOf(all[`distributed_lock.${name}`], attributes);
      expect([name, attributes, found]).toEqual([name, attributes, value]);
    }
  });

  it('work if the SDK is set up between the creation and the start of the application', async () => {
    const app = await compile({});
    telemetry.begin();
    await app.init();
    await app.get(LockService).withLock('k', () => undefined);
    expect((await telemetry.metrics())['distributed_lock.hold.duration']?.dataPoints).toHaveLength(1);
  });

  it('end with the application', async () => {
    telemetry.begin();
    const app = await compile({});
    await app.init();
    await app.close();
    expect((await telemetry.metrics())['distributed_lock.active']).toBeUndefined();
  });

  it('go only to the given provider', async () => {
    const other = new Telemetry();
    telemetry.begin();
    const app = await compile({ meterProvider: other.meters });
    await app.init();
    await app.get(LockService).withLock('k', () => undefined);
    expect(Object.keys(await other.metrics())).toContain('distributed_lock.hold.duration');
    expect(await telemetry.metrics()).toEqual({});
  });

  it('do not exist with metrics: false', async () => {
    telemetry.begin();
    const app = await compile({ metrics: false });
    await app.init();
    await app.get(LockService).withLock('k', () => undefined);
    expect(await telemetry.metrics()).toEqual({});
  });

  it('fail the start if they are imported twice, since everything would count twice', async () => {
    telemetry.begin();
    const app = await compile({}, { spans: 'none' });
    const error = await rejectionOf(app.init());
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error).toMatchObject({ message: expect.stringContaining('Import it once, into the root module') });
  });

  it.each([
    [{ spans: 'some' }, "spans must be 'waits' or 'all' or 'none'; got 'some'"],
    [{ recordKeys: 'yes' }, 'recordKeys must be true or false'],
    [{ metrics: 1 }, 'metrics must be true or false; got 1'],
    [{ meterProvider: {} }, 'meterProvider must be a MeterProvider; got an object'],
    [{ tracerProvider: metrics }, 'tracerProvider must be a TracerProvider; got an object'],
    [{ span: 'all' }, 'unknown option "span"'],
    [null, 'options must be an object; got null'],
  ])('reject the options %#', (options, message) => {
    expect(() => LockOpenTelemetryModule.forRoot(options as LockOpenTelemetryOptions)).toThrow(
      `LockOpenTelemetryModule.forRoot(): ${message}`,
    );
  });
});
