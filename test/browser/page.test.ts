import { afterAll, afterEach, beforeAll, expect, it, describe } from '@jest/globals';
import type { Page } from 'playwright-core';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import { OpsPages, type OpsPage } from '../integration/dashboard/ops-page.js';
import { axeViolations, TestBrowser } from '../support/browser-page.js';
import { LockApp } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { whereThereIsChromium } from '../support/where-there-is.js';

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</div><h1>big</h1>',
  'a\r\n\tb',
  '${7*7}{{7*7}}',
  '__proto__',
  'ключ 🔒',
];

whereThereIsChromium('the lock dashboard in a browser', () => {
  describe('O22: the lock dashboard in a browser', () => {
    const pages = new OpsPages();
    let browser: TestBrowser;
    let redis: RedisServer;

    beforeAll(async () => {
      [browser, redis] = await Promise.all([TestBrowser.start(), RedisServer.start()]);
    });
    afterEach(async () => {
      const complaints = await browser.closePages();
      await pages.close();
      await redis.client().flushall();
      expect(complaints).toEqual([]);
    });
    afterAll(async () => {
      await browser.close();
      await redis.close();
    });

    const start = (allowBreak = false): Promise<OpsPage> =>
      pages.start({
        locks: { redis: redis.url, shutdownTimeout: 0 },
        dashboard: { access: 'open', allowBreak, hosts: ['127.0.0.1'] },
      });
    const visit = (page: OpsPage, options?: Parameters<TestBrowser['open']>[1]): Promise<Page> =>
      browser.open(page.app.url('/locks'), options);
    const heldTable = (page: Page) => page.getByRole('table', { name: 'Held locks' });

    it('shows holders and waiters, and the details of one lock with queue and history', async () => {
      const ops = await start();
      const { locks } = ops.app;
      const page = await visit(ops);
      await page.getByText('None.', { exact: true }).waitFor();
      const hold = await locks.acquire('stock:pear', { label: 'order 7' });
      const waiting = locks.acquire('stock:pear', { label: 'order 8', waitTime: 60_000 });
      const row = heldTable(page).getByRole('row', { name: 'stock:pear' });
      await row.waitFor();
      expect(await row.textContent()).toContain(String(hold.token));
      expect(await row.textContent()).toContain(`/ ${process.pid}`);
      expect(await row.textContent()).toContain('order 7');
      await page
        .getByRole('table', { name: 'Longest waits' })
        .getByRole('row', { name: 'stock:pear' })
        .waitFor();
      await row.getByRole('button').click();
      const dialog = page.getByRole('dialog', { name: 'stock:pear' });
      await dialog.getByText('order 8').waitFor();
      await dialog.getByText(String(hold.token), { exact: true }).waitFor();
      await dialog.getByText('granted').waitFor();
      expect(await axeViolations(page)).toEqual([]);
      await hold.release();
      await (await waiting).release();
      await dialog.getByText('This lock is free now.').waitFor();
      await dialog.getByText('released').first().waitFor();
    });

    it('is accessible: no violation in light and dark mode, on desktop and phone', async () => {
      const ops = await start(true);
      await using _hold = await ops.app.locks.acquire('a', { label: 'nightly' });
      void ops.app.locks.acquire('a', { waitTime: 600_000 }).catch(() => undefined);
      for (const colorScheme of ['light', 'dark'] as const) {
        for (const width of [1280, 360]) {
          const page = await visit(ops, { colorScheme, viewport: { width, height: 800 } });
          await heldTable(page).getByRole('row', { name: 'nightly' }).waitFor();
          await page.getByRole('table', { name: 'Longest waits' }).waitFor();
          expect(await axeViolations(page)).toEqual([]);
          const overflow = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return scrollWidth - clientWidth;
          });
          expect(overflow).toBeLessThanOrEqual(0);
          const [red = 0] = await page.evaluate(() =>
            (getComputedStyle(document.body).backgroundColor.match(/\d+/g) ?? []).map(Number),
          );
          expect(red > 128).toBe(colorScheme === 'light');
          await heldTable(page).getByRole('button', { name: 'a', exact: true }).click();
          await page.getByRole('button', { name: 'Break this lock …' }).click();
          expect(await axeViolations(page)).toEqual([]);
        }
      }
    });

    it('shows a lost lock, plots holds, sorts by any column, and does not change while it is paused', async () => {
      // The next renewal detects a loss.
      const ops = await pages.start({
        locks: { redis: redis.url, shutdownTimeout: 0, watchdogTimeout: 3_000 },
        dashboard: { access: 'open' },
      });
      const { locks } = ops.app;
      const page = await visit(ops);
      await page.getByText('None.', { exact: true }).waitFor();
      const lost = await locks.acquire('gone', { label: 'nightly' });
      const old = await locks.acquire('old');
      const young = await locks.acquire('young');
      await ops.app.admin.forceRelease('gone');
      await page.locator('.losses').getByText(`token ${lost.token}, nightly`).waitFor();
      expect(await page.locator('.losses').innerText()).toMatch(
        /^gone by .*: another process acquired it, or it was broken, after \d/,
      );
      await until('the plot has some points', async () => {
        const points = await page.locator('.plot polyline.holds').getAttribute('points');
        return (points ?? '').split(' ').length >= 2;
      });
      const [first = NaN, last = NaN] = await page
        .locator('.plot polyline.holds')
        .evaluate((line: SVGPolylineElement) => [...line.points].map(({ y }) => y))
        .then((heights) => [heights[0], heights.at(-1)]);
      expect(last).toBeLessThan(first);

      const tokens = async (): Promise<readonly number[]> =>
        (await heldTable(page).locator('.body .cell.token').allInnerTexts()).map(Number);
      await until('the table has both', async () => (await tokens()).length === 2);
      const byToken = heldTable(page).getByRole('columnheader', { name: 'token' });
      for (const [direction, sorted] of [
        ['descending', [young.token, old.token]],
        ['ascending', [old.token, young.token]],
      ] as const) {
        await byToken.getByRole('button').click();
        expect(await byToken.getAttribute('aria-sort')).toBe(direction);
        expect(await tokens()).toEqual(sorted);
      }
      // Untruncated, so that it can be compared with the command line and the log.
      const isCut = await heldTable(page)
        .locator('.body .cell.token')
        .evaluateAll((cells) => cells.map(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth));
      expect(isCut).toEqual([false, false]);
      await page.getByRole('searchbox', { name: 'Filter' }).fill(String(old.token));
      await until('one is left', async () => (await tokens()).join() === String(old.token));
      await page.getByRole('searchbox', { name: 'Filter' }).fill('');

      const pause = page.getByRole('button', { name: 'Pause' });
      await pause.click();
      expect(await pause.getAttribute('aria-pressed')).toBe('true');
      // One response may be under way.
      await page.waitForLoadState('networkidle');
      const asked: string[] = [];
      page.on('request', (request) => asked.push(request.url()));
      await young.release();
      const since = Date.now();
      await until('two refresh intervals have passed', () => Date.now() - since > 5_000);
      expect(asked).toEqual([]);
      expect(await tokens()).toHaveLength(2);
      await pause.click();
      await until('the one is gone', async () => (await tokens()).join() === String(old.token));
      await old.release();
    });

    it('marks upper bounds of leases as such', async () => {
      const memory = new MemoryLockStore();
      const store: LockStore = {
        name: 'bounds',
        open: (client) => Object.assign(memory.open(client), { remainingIsBound: true }),
      };
      const ops = await pages.start({
        locks: { store, shutdownTimeout: 0 },
        dashboard: { access: 'open' },
      });
      // Without the module, it does not publish its holds.
      const other = await LockApp.start({ store, shutdownTimeout: 0 });
      try {
        await other.locks.acquire('stock:pear', { leaseTime: 600_000 });
        await ops.app.locks.acquire('stock:plum', { leaseTime: 600_000 });
        const page = await visit(ops);
        await page.getByRole('button', { name: 'List all locks in the store' }).click();
        const [bound, exact] = ['stock:pear', 'stock:plum'].map((name) =>
          heldTable(page).getByRole('row', { name }),
        );
        await bound?.getByText(/^≤ 9 min \d\d s$/).waitFor();
        await exact?.getByText(/^9 min \d\d s$/).waitFor();
        await bound?.getByRole('button').click();
        await page
          .getByRole('dialog')
          .getByText(/^≤ 9 min \d\d s$/)
          .waitFor();
      } finally {
        await other.close();
      }
    });

    it('reports that the hold has ended before it was broken', async () => {
      const ops = await start(true);
      const hold = await ops.app.locks.acquire('quick');
      const page = await visit(ops);
      await heldTable(page).getByRole('button', { name: 'quick' }).click();
      await page.getByRole('button', { name: 'Break this lock …' }).click();
      await hold.release();
      const next = await ops.app.locks.acquire('quick');
      await page.getByRole('button', { name: `Break the hold with token ${hold.token}` }).click();
      await page.getByRole('status').getByText('The lock has another holder now').waitFor();
      expect(next.isHeld).toBe(true);
      await next.release();
      // The browser logs every unsuccessful response itself.
      expect(browser.complaints.splice(0)).toEqual([expect.stringContaining('409')]);
    });

    it('has no button to break locks by default', async () => {
      const ops = await start();
      await using _hold = await ops.app.locks.acquire('a');
      const page = await visit(ops);
      await heldTable(page).getByRole('button', { name: 'a', exact: true }).click();
      await page.getByRole('dialog').getByText('lease left').waitFor();
      expect(await page.getByRole('button', { name: /break/i }).count()).toBe(0);
    });

    it('breaks one of several holds of a lock, and the others stay', async () => {
      const [ops, other] = [await start(true), await start()];
      const holds = [
        await ops.app.locks.acquire('api', { limit: 3, label: 'first' }),
        await other.app.locks.acquire('api', { limit: 3, label: 'second' }),
      ];
      const [first, second] = holds;
      if (first === undefined || second === undefined) throw new Error('there are two');
      const page = await visit(ops);
      await heldTable(page).getByRole('button', { name: 'api' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog
        .getByRole('listitem')
        .filter({ hasText: 'second' })
        .getByRole('button', { name: 'Break this hold …' })
        .click();
      expect(await axeViolations(page)).toEqual([]);
      await dialog.getByRole('button', { name: `Break the hold with token ${second.token}` }).click();
      await page.getByRole('status').getByText('A hold of api was broken.').waitFor();
      await dialog.locator('.holders').getByText('second').waitFor({ state: 'detached' });
      expect(await second.release()).toBe('expired');
      expect(await first.release()).toBe('released');
    });

    it('reports which rights the Redis user lacks', async () => {
      const used = { cluster: false, sharded: false, replicas: false, database: false };
      const url = await redis.addUser('few', 'secret', aclRules({ prefix: 'lock:' }, used));
      const ops = await pages.start({
        locks: { redis: url, shutdownTimeout: 0 },
        dashboard: { access: 'open' },
      });
      await using _hold = await ops.app.locks.acquire('mine');
      const page = await visit(ops);
      await heldTable(page).getByRole('row', { name: 'mine' }).waitFor();
      await page.getByText('ACL SETUSER few +mget').waitFor();
      await page.getByRole('button', { name: 'List all locks in the store' }).click();
      await page.getByRole('status').getByText('ACL SETUSER few +scan').waitFor();
      // The browser logs every unsuccessful response itself.
      expect(browser.complaints.splice(0)).toEqual([expect.stringContaining('503')]);
    });

    it('shows keys and labels as text, with any characters', async () => {
      const ops = await start();
      const holds = await Promise.all(HOSTILE.map((key) => ops.app.locks.acquire(key, { label: key })));
      const page = await visit(ops);
      await until(
        'all are there',
        async () => (await heldTable(page).locator('.body .row').count()) === HOSTILE.length,
      );
      const keys = await heldTable(page).locator('.key').allInnerTexts();
      expect(keys.map((key) => key.replace(/\s/g, '')).sort()).toEqual(
        HOSTILE.map((key) => key.replace(/\s/g, '')).sort(),
      );
      expect(await page.locator('img, main script, main h1').count()).toBe(0);
      for (const key of HOSTILE.slice(0, 3)) {
        await heldTable(page).locator('.key', { hasText: key }).first().click();
        const dialog = page.getByRole('dialog');
        await dialog.getByText('lease left').waitFor();
        expect(await dialog.getByRole('heading', { level: 2 }).textContent()).toBe(key);
        await page.keyboard.press('Escape');
        await dialog.waitFor({ state: 'detached' });
      }
      for (const hold of holds) await hold.release();
    });

    it('can be used with the keyboard alone', async () => {
      const ops = await start();
      const keys = Array.from({ length: 100 }, (_, number) => `lock-${String(number).padStart(3, '0')}`);
      const holds = [];
      for (const key of keys) holds.push(await ops.app.locks.acquire(key));
      const page = await visit(ops);
      await heldTable(page).waitFor();
      const focused = (): Promise<string | null | undefined> =>
        page.evaluate(() => document.activeElement?.textContent);
      // Ascending, by the name of the lock.
      await page.keyboard.press('Tab');
      await until('the heading of the column has the focus', async () => {
        if ((await focused())?.startsWith('lock') === true) return true;
        await page.keyboard.press('Tab');
        return false;
      });
      await page.keyboard.press('Enter');
      await until('the rows have the focus', async () => {
        await page.keyboard.press('Tab');
        return await page.evaluate(() => document.activeElement?.classList.contains('body'));
      });
      await page.keyboard.press('ArrowDown');
      await until('the first row has the focus', async () => (await focused()) === 'lock-000');
      await page.keyboard.press('End');
      await until('the last row has the focus', async () => (await focused()) === 'lock-099');
      await page.keyboard.press('ArrowUp');
      await until('the row before has the focus', async () => (await focused()) === 'lock-098');
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog', { name: 'lock-098' });
      await dialog.waitFor();
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      expect(await focused()).toBe('lock-098');
      for (const hold of holds) await hold.release();
    });

    it('retries while the application is busy with other visitors', async () => {
      const ops = await start();
      await using _hold = await ops.app.locks.acquire('a');
      const page = await visit(ops);
      let refused = 0;
      await page.route(/data=list/, async (route) => {
        if (refused === 2) {
          await route.continue();
          return;
        }
        refused += 1;
        const headers = { 'retry-after': '0' };
        await route.fulfill({ status: 429, headers, json: { message: 'Try again.' } });
      });
      await page.getByRole('button', { name: 'List all locks in the store' }).click();
      await page.getByRole('status').getByText('The store has 1 held lock.').waitFor();
      expect(refused).toBe(2);
      // Chromium logs them as errors.
      await until('they are logged', () => browser.complaints.length === 2);
      expect(browser.complaints.splice(0).every((complaint) => complaint.includes('429'))).toBe(true);
    });

    it('finds one of 10,000 locks in the store, and scrolls at the cost of the visible rows', async () => {
      const ops = await start();
      const { locks } = ops.app;
      const count = 10_000;
      for (let first = 0; first < count; first += 1_000) {
        const keys = Array.from(
          { length: 1_000 },
          (_, number) => `order:${String(first + number).padStart(5, '0')}`,
        );
        await Promise.all(keys.map((key) => locks.acquire(key, { leaseTime: 600_000 })));
      }
      const page = await visit(ops);
      await heldTable(page).waitFor();
      await page.getByRole('button', { name: 'List all locks in the store' }).click();
      await page
        .getByRole('status')
        .getByText('The store has 10,000 held locks.')
        .waitFor({ timeout: 60_000 });
      expect(await heldTable(page).getAttribute('aria-rowcount')).toBe('10001');
      expect(await heldTable(page).locator('.row').count()).toBeLessThan(100);
      // Times on the page are not compared.
      await page.getByRole('button', { name: 'Pause' }).click();
      const tracing = await page.context().newCDPSession(page);
      await tracing.send('Performance.enable');
      const layouts = async (): Promise<number> => {
        const { metrics } = await tracing.send('Performance.getMetrics');
        return metrics.find(({ name }) => name === 'LayoutCount')?.value ?? NaN;
      };
      const before = await layouts();
      const { steps, mostRows, mostAdded, missing } = await page.evaluate(async () => {
        const body = document.querySelector('.table .body');
        if (body === null) throw new Error('there is no table');
        const work = { steps: 50, mostRows: 0, mostAdded: 0, missing: 0 };
        let added = 0;
        const observer = new MutationObserver((changes) => {
          for (const { addedNodes } of changes) {
            added += [...addedNodes].filter((node) => node instanceof Element && node.matches('.row')).length;
          }
        });
        observer.observe(body, { childList: true, subtree: true });
        for (let step = 0; step < work.steps; step += 1) {
          added = 0;
          body.scrollTop += (body.scrollHeight - body.clientHeight) / work.steps;
          // The page gets the scroll event in the next frame, and renders before the one after.
          for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
          const { left, top, height } = body.getBoundingClientRect();
          if (document.elementFromPoint(left + 20, top + height / 2)?.closest('.row') === null)
            work.missing += 1;
          work.mostRows = Math.max(work.mostRows, body.querySelectorAll('.row').length);
          work.mostAdded = Math.max(work.mostAdded, added);
        }
        observer.disconnect();
        return work;
      });
      expect(mostRows).toBeLessThan(100);
      expect(mostAdded).toBeLessThanOrEqual(mostRows);
      expect(missing).toBe(0);
      // One per step; a layout for each row would be thousands.
      expect((await layouts()) - before).toBeLessThan(steps * 3);
      await page.getByRole('searchbox', { name: 'Filter' }).fill('order:0777');
      await until('ten are left', async () => (await heldTable(page).getAttribute('aria-rowcount')) === '11');
    });
  });
});
