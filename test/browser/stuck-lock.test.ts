import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { OpsPages } from '../integration/dashboard/ops-page.js';
import { FencedResource } from '../soak/fenced-resource.mjs';
import { axeViolations, TestBrowser } from '../support/browser-page.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { whereThereIsChromium } from '../support/where-there-is.js';
import { WorkerProcess } from '../support/worker-process.js';

const MINUTE = 60_000;

whereThereIsChromium('a lock that a stopped process holds, on the page', () => {
  /** Follows docs/operations/runbook.md, "A lock is stuck", on the lock dashboard. */
  describe('O20, O21: a lock held by a stopped process', () => {
    const pages = new OpsPages();
    const workers: WorkerProcess[] = [];
    let browser: TestBrowser;
    let redis: RedisServer;

    beforeAll(async () => {
      [browser, redis] = await Promise.all([TestBrowser.start(), RedisServer.start()]);
    });
    afterEach(async () => {
      const complaints = await browser.closePages();
      await pages.close();
      await Promise.all(workers.splice(0).map((worker) => worker.kill()));
      expect(complaints).toEqual([]);
    });
    afterAll(async () => {
      await browser.close();
      await redis.close();
    });

    const worker = async (): Promise<WorkerProcess> => {
      const started = await WorkerProcess.start({ redis: redis.url }, { isOnPage: true });
      workers.push(started);
      return started;
    };

    it('is found by key, host and pid and broken within a minute, with mouse and keyboard', async () => {
      const key = 'nightly:invoices';
      const [stuck, next, ops] = await Promise.all([
        worker(),
        worker(),
        pages.start({
          locks: { redis: redis.url, shutdownTimeout: 0 },
          dashboard: { access: 'open', allowBreak: true, hosts: ['127.0.0.1'] },
        }),
      ]);
      const { host } = (await ops.overview()).processes[0] ?? { host: '' };
      const invoices = new FencedResource();
      // A process that has waited once is notified of breaks.
      await next.do('acquire', { key: 'before' });
      const waited = stuck.do('acquire', { key: 'before', options: { waitTime: 5 * MINUTE } });
      await stuck.event('queued');
      await next.do('release', { as: 'before' });
      await waited;
      // Too long to wait for the lease to expire.
      const token = await stuck.do('acquire', { key, options: { leaseTime: 60 * MINUTE } });
      expect(invoices.write(key, token)).toBe(true);
      for (let index = 0; index < 20; index += 1) {
        await stuck.do('acquire', { key: `other:${String(index)}` });
      }
      stuck.stop();
      const waiting = next.do('acquire', { key, options: { waitTime: 5 * MINUTE } });
      await next.event('queued');

      const startedAt = performance.now();
      const page = await browser.open(ops.app.url('/locks'));
      // 1. Which one, and whose?
      const waits = page.getByRole('table', { name: 'Longest waits' });
      const wait = waits.getByRole('row', { name: key });
      await wait.waitFor({ timeout: MINUTE });
      expect(await waits.locator('.body .row').count()).toBe(1);
      await page.getByRole('button', { name: 'List all locks in the store' }).click();
      await page
        .getByRole('status')
        .getByText(/^The store has 2\d held locks\.$/)
        .waitFor({ timeout: MINUTE });
      const held = page.getByRole('table', { name: 'Held locks' }).getByRole('row', { name: key });
      await held.waitFor();
      const holder = (await held.locator('.holder').textContent()) ?? '';
      expect(holder).toBe(`${host} / ${stuck.pid}`);
      expect(await held.locator('.token').textContent()).toBe(String(token));
      expect(await held.locator('.since').textContent()).toMatch(/^\d+(\.\d)? (ms|s)$/);

      // 2. What does the holder do?
      const [, pid = ''] = / \/ (\d+)$/.exec(holder) ?? [];
      const ps = execFileSync('ps', ['-o', 'pid,stat,etime,args', '-p', pid], { encoding: 'utf8' });
      expect(ps).toMatch(new RegExp(`^\\s*${pid} T`, 'm'));

      // 3. Break it: the lock by the mouse, the rest by the keyboard.
      await held.getByRole('button', { name: key }).click();
      const dialog = page.getByRole('dialog', { name: key });
      await dialog.getByText(`${host} / ${stuck.pid}`).waitFor();
      await dialog.getByText(`${host} / ${next.pid}: 1 call`).waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Break this lock …' }).focus();
      await page.keyboard.press('Enter');
      const confirm = dialog.getByRole('button', { name: `Break the hold with token ${token}` });
      await until('the second question has the focus', () =>
        confirm.evaluate((button) => button === document.activeElement),
      );
      expect(invoices.write(key, token)).toBe(true);
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText(`The lock ${key} was broken.`).waitFor();
      const following = await waiting;
      expect(performance.now() - startedAt).toBeLessThan(MINUTE);
      expect(following).toBeGreaterThan(token);
      expect(invoices.write(key, following)).toBe(true);
      await dialog.getByText(`${host} / ${next.pid}`).waitFor();
      expect(ops.app.log.matching(`${JSON.stringify(key)} was broken by force, by `)).toHaveLength(1);

      // The stopped process continues: it learns of its loss, and its late write is rejected.
      stuck.resume();
      await until('it knows', () => stuck.events.some((event) => event.type === 'lost' && event.key === key));
      expect(await stuck.do('status', { as: key })).toMatchObject({
        isHeld: false,
        aborted: true,
        asserted: 'LOCK_LOST',
        token,
      });
      expect(invoices.write(key, token)).toBe(false);
      expect(await stuck.do('release', { as: key })).toBe('expired');
      expect(await ops.app.admin.inspect(key)).toMatchObject({ token: following });
      expect(await next.do('release', { as: key })).toBe('released');
    });
  });
});
