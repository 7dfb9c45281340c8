import { channel, tracingChannel } from 'node:diagnostics_channel';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { register as defaultRegister, Registry, type OpenMetricsContentType } from 'prom-client';
import { DistributedLockModule, LockAdmin, LockOptionsError, LockService } from '../../../lib/index.js';
import { LockPrometheusModule, type LockPrometheusOptions } from '../../../lib/prometheus/index.js';
import { Scrape } from '../../support/scrape.js';
import { rejectionOf, until } from '../../support/until.js';
import { MeasuredShop } from './measured-shop.js';

const OF_KINDS = ['lock_instance', 'mode', 'operation'];

/** O10, O12: the type of each metric, and the labels of its series. */
const TABLE: Readonly<Record<string, readonly [string, readonly string[]]>> = {
  distributed_lock_acquire_duration_seconds: ['histogram', ['error_type', ...OF_KINDS, 'outcome']],
  distributed_lock_hold_duration_seconds: ['histogram', [...OF_KINDS, 'outcome']],
  distributed_lock_losses_total: ['counter', [...OF_KINDS, 'reason']],
  distributed_lock_renewal_failures_total: ['counter', OF_KINDS],
  distributed_lock_store_request_duration_seconds: ['histogram', ['error_type', 'lock_instance', 'request']],
  distributed_lock_active: ['gauge', OF_KINDS],
  distributed_lock_waiting: ['gauge', OF_KINDS],
  distributed_lock_permits_held: ['gauge', ['lock_instance', 'operation']],
  distributed_lock_permits_limit: ['gauge', ['lock_instance', 'operation']],
  distributed_lock_wait_oldest_seconds: ['gauge', ['lock_instance']],
  distributed_lock_lease_margin_min_seconds: ['gauge', ['lock_instance']],
  distributed_lock_local: ['gauge', ['lock_instance']],
};

describe('O10, O12: metrics for Prometheus', () => {
  describe('of an application with every event', () => {
    let shop: MeasuredShop;
    let scrape: Scrape;
    beforeAll(async () => {
      shop = await MeasuredShop.open();
      await shop.causeEveryEvent();
      scrape = await shop.scrape();
    });
    afterAll(() => shop.close());

    it('have these types and labels', () => {
      expect(Object.fromEntries(scrape.types)).toEqual(
        Object.fromEntries(Object.entries(TABLE).map(([name, [type]]) => [name, type])),
      );
      for (const [name, [, labels]] of Object.entries(TABLE)) {
        expect([name, scrape.labelsOf(name)]).toEqual([name, labels]);
      }
    });

    it('count the calls by outcome, with the class of the error', () => {
      const calls = (outcome: string, error?: string): number | undefined =>
        scrape.value('distributed_lock_acquire_duration_seconds_count', {
          operation: 'checkout',
          mode: 'exclusive',
          outcome,
          ...(error !== undefined && { error_type: error }),
        });
      expect(calls('granted')).toBe(4);
      expect(calls('timeout', 'LockTimeoutError')).toBe(1);
      expect(calls('queue-full', 'LockQueueFullError')).toBe(1);
      expect(calls('skipped')).toBe(1);
      expect(calls('aborted')).toBe(1);
      expect(calls('unavailable', 'LockUnavailableError')).toBe(1);
      expect(
        scrape.value('distributed_lock_acquire_duration_seconds_count', {
          operation: 'catalog',
          outcome: 'refused',
          error_type: 'LockUpgradeError',
        }),
      ).toBe(1);
    });

    it('have buckets from 1 ms to a minute', () => {
      const of = { operation: 'checkout', outcome: 'granted' };
      const bounds = scrape.samples
        .filter(
          ({ name, labels }) =>
            name === 'distributed_lock_acquire_duration_seconds_bucket' &&
            labels['outcome'] === of.outcome &&
            labels['operation'] === of.operation,
        )
        .map(({ labels }) => labels['le']);
      expect(bounds).toEqual([
        '0.001',
        '0.005',
        '0.01',
        '0.05',
        '0.1',
        '0.5',
        '1',
        '5',
        '10',
        '30',
        '60',
        '+Inf',
      ]);
    });

    it('count holds, losses with their reason, and renewals that failed', () => {
      const holds = 'distributed_lock_hold_duration_seconds_count';
      expect(scrape.value(holds, { operation: 'checkout', outcome: 'released' })).toBe(2);
      expect(scrape.value(holds, { operation: 'checkout', outcome: 'lost' })).toBeGreaterThanOrEqual(1);
      expect(scrape.value(holds, { operation: 'catalog', mode: 'shared', outcome: 'released' })).toBe(1);
      const losses = 'distributed_lock_losses_total';
      expect(scrape.value(losses, { operation: 'invoice', reason: 'taken' })).toBe(1);
      // The counter exists from the first hold on, so that an increase is visible.
      expect(scrape.value(losses, { operation: 'invoice', reason: 'expired' })).toBe(0);
      expect(
        scrape.value('distributed_lock_renewal_failures_total', { operation: 'checkout' }),
      ).toBeGreaterThan(0);
      expect(scrape.value('distributed_lock_renewal_failures_total', { operation: 'catalog' })).toBe(0);
    });

    it('report holds and waiters', () => {
      expect(
        scrape.value('distributed_lock_active', { operation: 'invoice', lock_instance: 'billing' }),
      ).toBe(1);
      expect(
        scrape.value('distributed_lock_waiting', { operation: 'default', lock_instance: 'billing' }),
      ).toBe(0);
      const licences = { operation: 'licence', lock_instance: 'billing' };
      expect(scrape.value('distributed_lock_permits_held', licences)).toBe(2);
      expect(scrape.value('distributed_lock_permits_limit', licences)).toBe(3);
    });

    it('report the health of module instances, the default one without a label', () => {
      const plain = scrape.samples.filter(
        ({ name, labels }) => name === 'distributed_lock_local' && !('lock_instance' in labels),
      );
      expect(plain.map(({ value }) => value)).toEqual([0]);
      expect(scrape.value('distributed_lock_local', { lock_instance: 'billing' })).toBe(0);
      const margin = scrape.value('distributed_lock_lease_margin_min_seconds', { lock_instance: 'billing' });
      expect(margin).toBeGreaterThan(0);
      expect(margin).toBeLessThanOrEqual(30);
    });

    it('measure the requests to the store, including those without a reply', () => {
      const requests = 'distributed_lock_store_request_duration_seconds_count';
      const ofRedis = (request: string, error?: string): number =>
        scrape.samples
          .filter(
            ({ name, labels }) =>
              name === requests &&
              labels['request'] === request &&
              labels['error_type'] === error &&
              !('lock_instance' in labels),
          )
          .reduce((sum, { value }) => sum + value, 0);
      for (const request of ['acquire', 'release', 'force-release']) {
        expect([request, ofRedis(request) > 0]).toEqual([request, true]);
      }
      expect(ofRedis('renew', 'LockStoreError') + ofRedis('acquire', 'LockStoreError')).toBeGreaterThan(0);
    });

    it('contain no key, no label of a hold and no abort reason', () => {
      expect(scrape.text).not.toContain('secret');
    });
  });

  const start = async (...options: LockPrometheusOptions[]) => {
    @Module({
      imports: [
        DistributedLockModule.forRoot({ store: 'memory' }),
        ...options.map((each) => LockPrometheusModule.forRoot(each)),
      ],
    })
    class App {}
    const app = await Test.createTestingModule({ imports: [App] }).compile();
    await app.init();
    return { app, locks: app.get(LockService), admin: app.get(LockAdmin) };
  };
  const scrapeOf = async (register: Registry): Promise<Scrape> => new Scrape(await register.metrics());

  it('keep ended series with the value 0', async () => {
    const register = new Registry();
    const { app, locks, admin } = await start({ register });
    const holder = await locks.acquire('k', { operation: 'import' });
    const waiting = locks.acquire('k', { operation: 'import' });
    await until('it waits', () => admin.waiting().length === 1);
    const during = await scrapeOf(register);
    expect(during.value('distributed_lock_active', { operation: 'import' })).toBe(1);
    expect(during.value('distributed_lock_waiting', { operation: 'import' })).toBe(1);
    await holder.release();
    await (await waiting).release();
    const after = await scrapeOf(register);
    expect(after.value('distributed_lock_active', { operation: 'import' })).toBe(0);
    expect(after.value('distributed_lock_waiting', { operation: 'import' })).toBe(0);
    expect(after.value('distributed_lock_wait_oldest_seconds')).toBe(0);
    expect(after.value('distributed_lock_lease_margin_min_seconds')).toBeUndefined();
    await app.close();
  });

  it('are in the default registry unless another one is given', async () => {
    const { app, locks } = await start({});
    await locks.withLock('k', () => undefined);
    const scrape = await scrapeOf(defaultRegister);
    expect(scrape.value('distributed_lock_hold_duration_seconds_count')).toBe(1);
    await app.close();
    expect((await scrapeOf(defaultRegister)).samples).toEqual([]);
  });

  it('end with the application, which can be created again with the same registry', async () => {
    const register = new Registry();
    for (const time of [1, 2]) {
      const { app, locks } = await start({ register });
      await locks.withLock('k', { operation: `time-${time}` }, () => undefined);
      const scrape = await scrapeOf(register);
      expect(scrape.value('distributed_lock_hold_duration_seconds_count')).toBe(1);
      await app.close();
      expect(register.getMetricsAsArray()).toEqual([]);
    }
    // Without subscribers the engine does no work for events.
    expect(channel('nestjs-distributed-lock:event').hasSubscribers).toBe(false);
    expect(channel('nestjs-distributed-lock:request').hasSubscribers).toBe(false);
    expect(tracingChannel('nestjs-distributed-lock:acquire').asyncEnd.hasSubscribers).toBe(false);
  });

  it('go to several registries, if there are several', async () => {
    const [one, other] = [new Registry(), new Registry()];
    const { app, locks } = await start({ register: one }, { register: other });
    await locks.withLock('k', () => undefined);
    for (const register of [one, other]) {
      expect((await scrapeOf(register)).value('distributed_lock_hold_duration_seconds_count')).toBe(1);
    }
    await app.close();
  });

  it('go to a registry of OpenMetrics', async () => {
    const register = new Registry<OpenMetricsContentType>();
    register.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const { app, locks } = await start({ register });
    await locks.withLock('k', () => undefined);
    expect(await register.metrics()).toContain('distributed_lock_losses_total{');
    await app.close();
  });

  it('fail the start with a remedy if they are imported twice for one registry', async () => {
    const register = new Registry();
    const error = await rejectionOf(start({ register }, { register }));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toMatch(
      /^LockPrometheusModule: the registry has a metric distributed_lock_\w+ already\. Import the module once/,
    );
  });

  it.each([
    [{ register: 'default' }, "register must be a Registry of prom-client; got 'default'"],
    [{ register: {} }, 'register must be a Registry of prom-client; got an object'],
    [{ registry: new Registry() }, 'unknown option "registry"'],
    ['default', 'options must be an object'],
  ])('reject the options %#', (options, message) => {
    expect(() => LockPrometheusModule.forRoot(options as LockPrometheusOptions)).toThrow(
      new RegExp(`^LockPrometheusModule\\.forRoot\\(\\): ${message}`),
    );
  });

  it('fail with a remedy if the class itself is imported', async () => {
    const compiling = Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' }), LockPrometheusModule],
    }).compile();
    expect(String(await rejectionOf(compiling))).toContain(
      'import LockPrometheusModule.forRoot(), not the class itself',
    );
  });
});
