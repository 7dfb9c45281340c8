import { channel, tracingChannel } from 'node:diagnostics_channel';
import { Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { register as defaultRegister, Registry, type OpenMetricsContentType } from 'prom-client';
import { DistributedLockModule, LockOptionsError, LockService } from '../../../lib/index.js';
import { LockPrometheusModule, type LockPrometheusOptions } from '../../../lib/prometheus/index.js';
import { Scrape } from '../../support/scrape.js';
import { rejectionOf } from '../../support/until.js';
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
  distributed_lock_lease_margin_ratio: ['gauge', ['lock_instance']],
  distributed_lock_store_reachable: ['gauge', ['lock_instance']],
  distributed_lock_local: ['gauge', ['lock_instance']],
};

/** Counts of calls, holds, losses and requests are tested with every store, see test/contract/instruments.rules.ts. */
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
      const name = 'distributed_lock_acquire_duration_seconds_bucket';
      const bounds = scrape.samples.flatMap(({ name: each, labels }) =>
        each === name ? [labels['le']] : [],
      );
      expect([...new Set(bounds)].join(' ')).toBe('0.001 0.005 0.01 0.05 0.1 0.5 1 5 10 30 60 +Inf');
    });

    it('count renewals that failed, and begin losses and failures with 0', () => {
      const losses = 'distributed_lock_losses_total';
      expect(scrape.value(losses, { operation: 'invoice', reason: 'taken' })).toBe(1);
      // The counter exists from the first hold on, so that an increase is visible.
      expect(scrape.value(losses, { operation: 'invoice', reason: 'expired' })).toBe(0);
      const failures = 'distributed_lock_renewal_failures_total';
      expect(scrape.value(failures, { operation: 'checkout' })).toBeGreaterThan(0);
      expect(scrape.value(failures, { operation: 'catalog' })).toBe(0);
    });

    it('report permits', () => {
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

    it('measure requests to the store without a reply', () => {
      const failed = scrape.samples.filter(
        ({ name, labels, value }) =>
          name === 'distributed_lock_store_request_duration_seconds_count' &&
          labels['error_type'] === 'LockStoreError' &&
          value > 0,
      );
      expect(failed.length).toBeGreaterThan(0);
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
    return { app, locks: app.get(LockService) };
  };
  const scrapeOf = async (register: Registry): Promise<Scrape> => new Scrape(await register.metrics());

  it('are in the default registry unless another one is given', async () => {
    const { app, locks } = await start({});
    await locks.withLock('k', () => undefined);
    const scrape = await scrapeOf(defaultRegister);
    expect(scrape.value('distributed_lock_hold_duration_seconds_count')).toBe(1);
    expect(scrape.value('distributed_lock_wait_oldest_seconds')).toBe(0);
    expect(scrape.value('distributed_lock_lease_margin_min_seconds')).toBeUndefined();
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
});
