import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { Registry } from 'prom-client';
import { Dashboard } from '../../lib/dashboard/dashboard.js';
import { ProcessReport } from '../../lib/dashboard/process-report.js';
import { DistributedLockModule, LockAdmin, LockService, LockTimeoutError } from '../../lib/index.js';
import type { OwnerId } from '../../lib/stores/port/index.js';
import { LockPrometheusModule } from '../../lib/prometheus/index.js';
import { LogRecorder } from '../support/lock-app.js';
import { Scrape } from '../support/scrape.js';
import { next, rejectionOf, until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** What the instruments report is the same on every store. */
export function instrumentRules(context: ContractContext): void {
  describe('O12, O20: metrics and the dashboard', () => {
    let module: TestingModule;
    let register: Registry;
    let locks: LockService;
    let admin: LockAdmin;
    const endings: (() => unknown)[] = [];

    beforeEach(async () => {
      register = new Registry();
      // A process that is not notified of a broken hold detects it at a renewal, well before the test times out.
      const settings = { watchdogTimeout: 6_000, shutdownTimeout: 100 };
      module = await Test.createTestingModule({
        imports: [
          DistributedLockModule.forRoot({ ...context.store.options(), ...settings }),
          LockPrometheusModule.forRoot({ register }),
        ],
      })
        .setLogger(new LogRecorder())
        .compile();
      await module.init();
      locks = module.get(LockService);
      admin = module.get(LockAdmin);
    });
    afterEach(async () => {
      await Promise.all(endings.splice(0).map((end) => end()));
      await module.close();
    });

    const scrape = async (): Promise<Scrape> => new Scrape(await register.metrics());
    /** The number of calls of each outcome. */
    const outcomes = ({ samples }: Scrape, metric: string): Record<string, number> =>
      Object.fromEntries(
        samples
          .filter(({ name, value }) => name === `${metric}_seconds_count` && value > 0)
          .map(({ labels, value }) => [`${labels['operation'] ?? ''} ${labels['outcome'] ?? ''}`, value]),
      );

    it('count a loss that only the release shows as one hold and one loss', async () => {
      const [key, operation] = [context.key(), 'checkout'];
      const [stranger] = await context.clients(1);
      const lost = next(locks.events, ({ type }) => type === 'lost');
      await locks.withLock(key, { operation }, async () => {
        await stranger.release(key, (await admin.inspect(key))?.owner as OwnerId);
      });
      await lost;
      const after = await scrape();
      expect(outcomes(after, 'distributed_lock_hold_duration')).toEqual({ 'checkout released': 1 });
      expect(after.value('distributed_lock_losses_total', { operation, reason: 'expired' })).toBe(1);
    });

    it('count calls, holds, losses and requests, and report what is held and waited for', async () => {
      const [key, operation] = [context.key(), 'checkout'];
      await locks.withLock(key, { operation }, () => undefined);
      const holder = await locks.acquire(key, { operation });
      const waiting = locks.acquire(key, { operation, waitTime: Infinity });
      await until('it waits', () => admin.waiting().length === 1);
      expect(await locks.tryAcquire(key, { operation })).toBeNull();
      expect(await rejectionOf(locks.acquire(key, { operation, waitTime: 0 }))).toBeInstanceOf(
        LockTimeoutError,
      );
      const mode = context.isExclusive ? 'exclusive' : 'shared';
      const reader = await locks.acquire(context.key(), { operation: 'catalog', mode });

      const during = await scrape();
      expect(during.value('distributed_lock_active', { operation, mode: 'exclusive' })).toBe(1);
      expect(during.value('distributed_lock_active', { operation: 'catalog', mode })).toBe(1);
      expect(during.value('distributed_lock_waiting', { operation })).toBe(1);
      expect(during.value('distributed_lock_lease_margin_min_seconds')).toBeGreaterThan(0);
      expect(during.value('distributed_lock_local')).toBe(0);

      await reader.release();
      await holder.release();
      await waiting;
      const lost = next(locks.events, ({ type }) => type === 'lost');
      expect(await admin.forceRelease(key)).toBe(true);
      await lost;

      const after = await scrape();
      expect(outcomes(after, 'distributed_lock_acquire_duration')).toEqual({
        'checkout granted': 3,
        'checkout skipped': 1,
        'checkout timeout': 1,
        'catalog granted': 1,
      });
      expect(outcomes(after, 'distributed_lock_hold_duration')).toEqual({
        'checkout released': 2,
        'checkout lost': 1,
        'catalog released': 1,
      });
      const lossesBy = (reason: string): number =>
        after.value('distributed_lock_losses_total', { operation, reason }) ?? NaN;
      // A notified process records "taken"; one that finds the hold gone at a renewal records "expired".
      expect(lossesBy('taken') + lossesBy('expired')).toBe(1);
      expect(lossesBy('unreachable')).toBe(0);
      expect(after.value('distributed_lock_renewal_failures_total', { operation })).toBe(0);
      expect(after.value('distributed_lock_active', { operation })).toBe(0);
      expect(after.value('distributed_lock_waiting', { operation })).toBe(0);
      const requests = after.samples.filter(
        ({ name: sample }) => sample === 'distributed_lock_store_request_duration_seconds_count',
      );
      expect(requests.map(({ labels }) => labels['request'])).toEqual(
        expect.arrayContaining(['acquire', 'release', 'force-release']),
      );
      expect(requests.filter(({ labels }) => 'error_type' in labels)).toEqual([]);
      expect(after.text).not.toContain(key);
    });

    it('the dashboard shows what every process holds and waits for, and its health', async () => {
      context.leavesLocks();
      const other = await context.app();
      const key = context.key();
      const page = new Dashboard(false);
      endings.push(() => page.stop());
      page.start(() => [admin]);
      await page.overview(); // a dashboard is open from now on
      const report = new ProcessReport(other.admin);
      endings.push(() => report.stop());

      const holder = await locks.acquire(key, { operation: 'checkout', label: 'order 7' });
      const waiting = other.locks.acquire(key, { waitTime: 60_000, label: 'order 8' });
      await until('it waits', () => other.admin.waiting().length === 1);
      await report.report();
      // A second viewer, which gets its own reply.
      const again = new Dashboard(false);
      endings.push(() => again.stop());
      again.start(() => [admin]);
      const { notes, processes } = await again.overview();
      expect(notes).toEqual([]);
      const published = new Map(processes.map((each) => [each.client, each]));
      expect(published.size).toBe(2);
      expect(published.get(admin.status().clientId)).toMatchObject({
        pid: process.pid,
        held: [{ key, operation: 'checkout', label: 'order 7', mode: 'exclusive', token: holder.token }],
        busiest: [],
        status: {
          store: { name: admin.status().store.name, reachable: true },
          local: false,
          holds: 1,
          waiters: 0,
        },
      });
      expect(published.get(other.admin.status().clientId)).toMatchObject({
        pid: process.pid,
        held: [],
        busiest: [{ key, callers: 1 }],
        status: { store: { reachable: true }, holds: 0, waiters: 1 },
      });
      await holder.release();
      await (await waiting).release();
    });
  });
}
