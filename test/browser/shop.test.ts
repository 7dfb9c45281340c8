import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Leftovers } from '../../.scripts/applications/leftovers.mjs';
import { prepareSampleApp, startInstance, type Instance } from '../../.scripts/applications/sample-app.mjs';
import { axeViolations, TestBrowser } from '../support/browser-page.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';
import { whereThereIsChromium } from '../support/where-there-is-chromium.js';

whereThereIsChromium('the lock dashboard of a busy shop', () => {
  describe('the lock dashboard of a busy shop', () => {
    const leftovers = new Leftovers();
    let redis: RedisServer;
    let browser: TestBrowser;
    let shops: readonly Instance[];

    beforeAll(async () => {
      await prepareSampleApp({ leftovers, log: () => undefined });
      [redis, browser] = await Promise.all([RedisServer.start(), TestBrowser.start()]);
      const env = {
        LOCK_STORE: 'redis',
        REDIS_URL: redis.url,
        DATABASE_FILE: join(leftovers.folder('page-test-'), 'shop.db'),
        FRAUD_CHECK_LATENCY: '300',
      };
      shops = await Promise.all(
        ['one', 'two', 'three'].map((name) => startInstance({ name, env, leftovers })),
      );
    });
    afterAll(async () => {
      await browser.close();
      await leftovers.remove();
      await redis.close();
    });

    const send = (shop: Instance, method: string, path: string, body: unknown): Promise<Response> =>
      fetch(new URL(path, shop.url), {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });

    it('shows all three processes with holds and waiters, from any of them', async () => {
      const [first, , third] = shops;
      if (first === undefined || third === undefined) throw new Error('there are three');
      await send(first, 'PUT', '/inventory/pear', { stock: 10_000 });
      let isOver = false;
      const buyers = shops.flatMap((shop) =>
        Array.from({ length: 3 }, async () => {
          while (!isOver) await send(shop, 'POST', '/orders', { sku: 'pear', quantity: 1 });
        }),
      );
      for (const shop of [first, third]) {
        const page = await browser.open(new URL('/locks', shop.url));
        const processes = page.getByRole('region', { name: 'Processes', exact: true });
        for (const { child } of shops) await processes.getByText(`/ ${String(child.pid)}`).waitFor();
        await page
          .getByRole('table', { name: 'Held locks' })
          .getByRole('row', { name: 'inventory:pear' })
          .first()
          .waitFor();
        const waits = page
          .getByRole('table', { name: 'Longest waits' })
          .getByRole('row', { name: 'inventory:pear' });
        await until(
          'buyers of all processes wait',
          async () => (await waits.locator('.processes').textContent({ timeout: 10_000 })) === '3',
          { deadline: 30_000 },
        );
        expect(await axeViolations(page)).toEqual([]);
      }
      isOver = true;
      await Promise.all(buyers);
      expect(await browser.closePages()).toEqual([]);
    });
  });
});
