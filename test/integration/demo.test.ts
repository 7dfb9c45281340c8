import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Leftovers } from '../../.scripts/demo/leftovers.mjs';
import { prepareSampleApp } from '../../.scripts/demo/sample-app.mjs';
import type { Overview } from '../../lib/dashboard/wire.js';
import { CommandLine } from '../support/command-line.js';
import { processesWith, readTable, withoutRedisUrl } from '../support/demo-run.js';
import { RedisServer } from '../support/redis-server.js';
import { until, within } from '../support/until.js';

const demoScript = fileURLToPath(new URL('../../.scripts/demo.mjs', import.meta.url));
/** In memory if possible: a disk that is busy after an npm install takes seconds for each sale. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** Shorter than the test timeout, so that a failure shows the output of the demo. */
const PATIENCE_MS = 290_000;

describe('npm run demo', () => {
  const leftovers = new Leftovers();
  /** Temporary files of the demo. Its processes are found by this path, which they inherit in their environment. */
  let scratch: string;

  beforeAll(() => prepareSampleApp({ leftovers, log: () => undefined }));
  afterAll(() => leftovers.remove());

  beforeEach(() => {
    scratch = mkdtempSync(join(SCRATCH, 'demo-test-'));
  });
  afterEach(() => {
    for (const { pid } of processesWith(scratch)) process.kill(pid, 'SIGKILL');
    rmSync(scratch, { recursive: true, force: true });
  });

  const start = (args: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [demoScript, ...args], {
      env: { ...withoutRedisUrl(), TMPDIR: scratch, ...env },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const ended = once(child, 'close').then(([code]) => code as number | null);
    return {
      child,
      ended: () => within(PATIENCE_MS, `the end of the demo:\n${output}`, ended),
      output: () => output,
      printed: (text: string) =>
        until(`the demo prints "${text}"`, () => output.includes(text), { deadline: PATIENCE_MS }),
    };
  };

  const expectNothingLeft = () => {
    expect(processesWith(scratch)).toEqual([]);
    expect(readdirSync(scratch)).toEqual([]);
  };

  it('oversells without the lock, sells exactly the stock with it, and exits with 0', async () => {
    const demo = start(['--instances', '2', '--stock', '20', '--orders', '60', '--quantity', '3']);
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
    expectNothingLeft();
  });

  it('uses the server of REDIS_URL, and leaves no key there', async () => {
    const redis = await RedisServer.start();
    try {
      await redis.client().set('mine', '1');
      const demo = start(['--instances', '1', '--stock', '2', '--orders', '8'], { REDIS_URL: redis.url });
      expect({ code: await demo.ended(), output: demo.output() }).toEqual({
        code: 0,
        output: expect.any(String),
      });
      expect(await redis.client().keys('*')).toEqual(['mine']);
      expectNothingLeft();
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
      const demo = start(['--instances', String(instances), '--stock', '400', '--orders', '400']);
      await demo.printed(line);
      demo.child.kill(signal);
      expect(await demo.ended()).toBe(code);
      expectNothingLeft();
    },
  );

  it('shows the running sale at the printed addresses, and by the command line', async () => {
    const demo = start(['--keep', '--instances', '2', '--stock', '600', '--orders', '600']);
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
    expectNothingLeft();
  });

  it('ends with npm when npm is terminated, although npm forwards no signal', async () => {
    const npm = spawn(
      'npm',
      ['run', 'demo', '--', '--keep', '--instances', '1', '--stock', '3', '--orders', '6'],
      {
        cwd: join(demoScript, '../..'),
        // npm would keep a cache of compiled code in TMPDIR.
        env: { ...withoutRedisUrl(), TMPDIR: scratch, NODE_DISABLE_COMPILE_CACHE: '1' },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    let output = '';
    npm.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until('the demo is running', () => output.includes('curl http'), { deadline: PATIENCE_MS });
    npm.kill('SIGTERM');
    await until('all processes have ended', () => processesWith(scratch).length === 0, { every: 50 });
    expectNothingLeft();
  });

  it('exits with 1 when an instance crashes, names it, and leaves nothing behind', async () => {
    const demo = start(['--instances', '2', '--stock', '400', '--orders', '400']);
    await demo.printed('unprotected  100/400');
    const instance = processesWith(scratch).find(({ command }) => command.includes('dist/main.js'));
    process.kill(instance!.pid, 'SIGKILL');
    expect(await demo.ended()).toBe(1);
    expect(demo.output()).toMatch(/instance \d ended unexpectedly \(SIGKILL\)/);
    expectNothingLeft();
  });

  it.each([
    [['--stock', '0'], '--stock must be a whole number from 1 to 1000000, not "0"'],
    [['--orders', 'many'], '--orders must be a whole number'],
    [['--instances', '17'], '--instances must be a whole number from 1 to 16'],
    [['--stocks', '5'], "Unknown option '--stocks'"],
    [['50'], 'npm run demo -- --stock 50'],
  ])('rejects %j with exit code 2', async (args, message) => {
    const demo = start(args);
    expect(await demo.ended()).toBe(2);
    expect(demo.output()).toContain(message);
    expectNothingLeft();
  });

  it('reports the cause if the server of REDIS_URL is unreachable', async () => {
    const demo = start([], { REDIS_URL: 'redis://127.0.0.1:1' });
    expect(await demo.ended()).toBe(1);
    expect(demo.output()).toContain(
      "The server of REDIS_URL can't be used: connect ECONNREFUSED 127.0.0.1:1",
    );
    expectNothingLeft();
  });
});
