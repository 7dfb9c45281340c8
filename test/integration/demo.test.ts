import { describe, expect, it } from '@jest/globals';
import type { Overview } from '../../lib/dashboard/wire.js';
import { CommandLine } from '../support/command-line.js';
import { Demos, readTable } from '../support/demo-run.js';
import { RedisServer } from '../support/redis-server.js';
import { until } from '../support/until.js';

describe('npm run demo', () => {
  const demos = new Demos();

  it('oversells without the lock, sells exactly the stock with it, and exits with 0', async () => {
    const demo = demos.start(['--instances', '2', '--stock', '20', '--orders', '60', '--quantity', '3']);
    expect({ code: await demo.ended(), output: demo.output() }).toEqual({
      code: 0,
      output: expect.any(String),
    });
    const { unprotected, protected: locked } = readTable(demo.output());
    expect(unprotected!['oversold']).toBeGreaterThan(0);
    expect(locked).toMatchObject({ sold: 18, left: 2, oversold: 0, rejected: 54 });
    expect(locked!['orders/s']).toBeGreaterThan(0);
    expect(locked!['p99']).toBeGreaterThanOrEqual(locked!['p50']!);
    expect(demo.output()).toContain('exactly 18 were sold, in 6 orders; the database agrees');
    demos.expectNothingLeft();
  });

  it('uses the server of REDIS_URL, and leaves no key there', async () => {
    const redis = await RedisServer.start();
    try {
      await redis.client().set('mine', '1');
      const demo = demos.start(['--instances', '1', '--stock', '2', '--orders', '8'], {
        REDIS_URL: redis.url,
      });
      expect({ code: await demo.ended(), output: demo.output() }).toEqual({
        code: 0,
        output: expect.any(String),
      });
      expect(await redis.client().keys('*')).toEqual(['mine']);
      demos.expectNothingLeft();
    } finally {
      await redis.close();
    }
  });

  it.each([
    ['while the instances start', 2, 'Starting 2 instances', 'SIGINT', 130],
    ['in the unprotected run', 1, 'unprotected  100/400', 'SIGTERM', 143],
    ['in the protected run', 1, 'protected    100/400', 'SIGINT', 130],
  ] as const)(
    'leaves no process and no file behind when it is stopped %s',
    async (_, instances, line, signal, code) => {
      const demo = demos.start(['--instances', String(instances), '--stock', '400', '--orders', '400']);
      await demo.printed(line);
      demo.child.kill(signal);
      expect(await demo.ended()).toBe(code);
      demos.expectNothingLeft();
    },
  );

  it('shows the running sale at the printed addresses, and by the command line', async () => {
    const demo = demos.start(['--keep', '--instances', '2', '--stock', '600', '--orders', '600']);
    await demo.printed('key-prefix lock:');
    const before = demo.output().slice(0, demo.output().indexOf('unprotected') >>> 0);
    const urls = [...before.matchAll(/instance \d\s+(http:\S+)\/locks/g)].map(([, url]) => url!);
    expect(urls).toHaveLength(2);
    for (const url of urls) {
      for (const page of ['/locks', '/health', '/metrics']) {
        expect(before).toContain(`${url}${page}`);
        expect((await fetch(url + page)).status).toBe(200);
      }
    }
    const [url] = urls;
    await until('the page shows the sale', async () => {
      const overview = (await (await fetch(`${url}/locks?data=overview`)).json()) as Overview;
      return overview.processes.some(({ held, busiest }) =>
        [...held, ...busiest].some(({ key }) => key.startsWith('inventory:protected-')),
      );
    });
    const [, line = ''] = /command line\s+npx nestjs-distributed-lock (list --redis .+)$/m.exec(before) ?? [];
    const listed = await CommandLine.run(line.split(' '));
    expect({ code: listed.code, errors: listed.stderr }).toEqual({
      code: 0,
      errors: expect.stringMatching(/^\d+ locks? in Redis at \S+, prefix "lock:"\.\n$/),
    });
    await demo.printed('curl http');
    demo.child.kill('SIGINT');
    expect(await demo.ended()).toBe(0);
    demos.expectNothingLeft();
  });

  it.each([
    [['--stock', '0'], '--stock must be a whole number from 1 to 1000000, not "0"'],
    [['--stocks', '5'], "Unknown option '--stocks'"],
    [['50'], 'npm run demo -- --stock 50'],
  ])('rejects %j with exit code 2', async (args, message) => {
    const demo = demos.start(args);
    expect(await demo.ended()).toBe(2);
    expect(demo.output()).toContain(message);
    demos.expectNothingLeft();
  });
});
