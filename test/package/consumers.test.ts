import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RedisServer } from '../support/redis-server.js';
import { Consumer, PackedPackage } from './consumer.js';

const MINUTE = 60_000;
jest.setTimeout(4 * MINUTE);

const exercised = {
  decorated: 10,
  injected: 10,
  returned: 'took book',
  tokensGrow: true,
  busy: 'LOCK_TIMEOUT',
  left: false,
};

/** Responses of a handler whose lock is free and held, and of the dashboard that shows it. */
const answered = { free: 200, held: 423, page: 200, shown: ['page:book'] };

/** Optional packages of Nest, which a bundler must not resolve. */
const OPTIONAL = [
  '@nestjs/microservices',
  '@nestjs/websockets',
  '@nestjs/platform-express',
  '@nestjs/platform-socket.io',
  'class-transformer',
  'class-validator',
];

describe('applications that have installed the tarball', () => {
  let packed: PackedPackage;
  let redis: RedisServer;
  const consumers = new Map<string, Promise<Consumer>>();

  /** The application, ready to run. A failed installation fails only its own test. */
  function installed(name: string): Promise<Consumer> {
    return (
      consumers.get(name) ?? Promise.reject(new Error(`${name} is not among the applications to install`))
    );
  }

  /** Installs these together when `after` is settled; resolves when that has succeeded or failed. */
  async function install(names: readonly string[], after?: Promise<unknown>): Promise<void> {
    const start = async (): Promise<Consumer[]> => {
      await after;
      return await Consumer.install(names, packed);
    };
    const all = start();
    for (const [index, name] of names.entries()) {
      const one = all.then((together) => together[index]!);
      one.catch(() => undefined);
      consumers.set(name, one);
    }
    await all.catch(() => undefined);
  }

  beforeAll(async () => {
    [packed, redis] = await Promise.all([PackedPackage.pack(), RedisServer.start()]);
    // In two batches: the second is installed during the tests of the first.
    const first = Promise.all([install(['nest11-commonjs']), install(['nest12-esm'])]);
    void install(['nest11-jest', 'nest11-workers'], first);
    void install(['esbuild-bundle', 'nest12-vitest'], first);
    void install(['without-clients'], first);
  });

  afterAll(async () => {
    const all = await Promise.allSettled(consumers.values());
    const created = all.filter((outcome) => outcome.status === 'fulfilled').map((outcome) => outcome.value);
    await Promise.all(created.map((consumer) => consumer.remove()));
    await redis.close();
    await packed.remove();
  });

  /** Writes the tests of `examples/testing`, which the guide to testing shows, for a test runner; returns their number. */
  async function addSamples(app: Consumer, runner: 'jest' | 'vitest'): Promise<number> {
    let tests = 0;
    const folder = join(import.meta.dirname, '../../examples/testing/src');
    for (const name of await readdir(folder)) {
      const code = await readFile(join(folder, name), 'utf8');
      const hasTests = code.includes('@jest/globals') || code.includes("from 'vitest'");
      if (name === 'main.ts' || (hasTests && code.includes("from 'vitest'") !== (runner === 'vitest')))
        continue;
      await app.write(name.replace('.vitest.ts', '.spec.ts'), `import 'reflect-metadata';\n${code}`);
      tests += code.match(/^it\(/gm)?.length ?? 0;
    }
    return tests;
  }

  const env = () => ({ REDIS_URL: redis.url });
  const result = (output: string): unknown => JSON.parse(output.trim().split('\n').at(-1) ?? '');

  it('Nest 11.0 and ioredis 5.4: CommonJS compiled by the oldest TypeScript (5.2), declarations included', async () => {
    const app = await installed('nest11-commonjs');
    await app.tool('tsc', []);
    expect(result(await app.node('dist/main.js', env()))).toEqual({ ...exercised, ...answered });
  });

  it('Nest 12 and ioredis 6: ES modules compiled by the newest TypeScript (6.0) and types of Node (26), declarations included', async () => {
    const app = await installed('nest12-esm');
    await app.tool('tsc', []);
    expect(result(await app.node('dist/main.js', env()))).toEqual({ ...exercised, ...answered });
  });

  it('Nest 11 and ioredis 6: tested with Jest in CommonJS, and with the samples for tests', async () => {
    const app = await installed('nest11-jest');
    const samples = await addSamples(app, 'jest');
    expect(samples).toBeGreaterThan(10);
    // With the old module resolution, which ignores `exports`.
    await app.tool('tsc', ['--noEmit']);
    const report = JSON.parse(await app.tool('jest', ['--json'], env())) as { numPassedTests: number };
    expect(report.numPassedTests).toBe(1 + samples);
  });

  it('Nest 12 and ioredis 5: tested with Vitest, by the samples for tests', async () => {
    const app = await installed('nest12-vitest');
    const samples = await addSamples(app, 'vitest');
    expect(samples).toBeGreaterThan(0);
    const report = JSON.parse(await app.tool('vitest', ['run', '--reporter=json'])) as {
      numPassedTests: number;
    };
    expect(report.numPassedTests).toBe(samples);
  });

  it('Nest 11, without the client of any store it compiles and runs as CommonJS and ES module; a store names what to install', async () => {
    const app = await installed('without-clients');
    await cp(join(app.folder, 'src/commonjs.ts'), join(app.folder, 'src/esm.mts'));
    await app.tool('tsc', []);
    // As on the first releases of Node 20, where CommonJS can't load ES modules.
    const oldest = { NODE_OPTIONS: '--no-experimental-require-module' };
    const install = (name: string): string =>
      `the package ${name} is not installed. Install it: npm install ${name}`;
    const redis = install('ioredis');
    const expected = {
      redis: `DistributedLockModule: locks in Redis: ${redis}`,
      cluster: `DistributedLockModule: locks in Redis: ${redis}`,
      quorum: `DistributedLockModule: quorum[0]: locks in Redis: ${redis}`,
      postgres: `postgresStore: ${install('pg')}`,
      redisson: `DistributedLockModule: locks in Redis: ${redis}`,
      etcd: `etcdStore: ${install('@grpc/grpc-js')}`,
      zookeeper: 'ZooKeeper at localhost:2181',
      locked: 'key',
    };
    expect(result(await app.node('dist/commonjs.js', oldest))).toEqual(expected);
    expect(result(await app.node('dist/esm.mjs', oldest))).toEqual(expected);
    const listed = app.tool(
      'nestjs-distributed-lock',
      ['list', '--redis', 'redis://localhost', '--json'],
      oldest,
    );
    const { cause } = (await listed.catch((error: unknown) => error)) as { cause: { stderr: string } };
    expect(JSON.parse(cause.stderr)).toMatchObject({ error: { message: `locks in Redis: ${redis}` } });
  });

  let workers: Promise<Consumer> | undefined;

  /** Compiled once for both tests. */
  function compiledWorkers(): Promise<Consumer> {
    const compile = async (): Promise<Consumer> => {
      const app = await installed('nest11-workers');
      await app.tool('tsc', []);
      return app;
    };
    return (workers ??= compile());
  }

  it('B60, Nest 11: shutdown fails no job, request, message or hook that uses locks, and the process ends', async () => {
    const app = await compiledWorkers();
    expect(result(await app.node('dist/main.js', env()))).toEqual({
      failed: 0,
      active: 0,
      jobs: 40,
      answers: ['served', 'served', 'served'],
      served: 3,
      messages: 3,
      hooks: 1,
      errors: 0,
      refused: true,
    });
  });

  it('Nest 11 and terminus 11: readiness while Redis is paused and continues, metrics and spans', async () => {
    const app = await compiledWorkers();
    const own = await RedisServer.start();
    try {
      const stopped = { REDIS_URL: own.url, REDIS_PID: String(own.pid) };
      expect(result(await app.node('dist/operations.js', stopped))).toMatchObject({
        // The response would not contain it with a status that terminus 11 does not know.
        degraded: {
          status: 'ok',
          info: { locks: { status: 'up', reasons: ['1 hold lost in the last 5 minutes'] } },
        },
        metrics: 14,
        counted: '1',
        spans: ['lock acquire default', 'lock acquire checkout', 'lock hold checkout'],
      });
    } finally {
      await own.close();
    }
  });

  it('Nest 12 and ioredis 5: bundled into one file that runs without the package and its Lua files', async () => {
    const app = await installed('esbuild-bundle');
    const external = OPTIONAL.flatMap((name) => [`--external:${name}`, `--external:${name}/*`]);
    // CommonJS packages in the bundle call `require` for Node's modules.
    const banner =
      "import { createRequire as bundleRequire } from 'node:module'; const require = bundleRequire(import.meta.url);";
    const bundling = [
      '--bundle',
      '--platform=node',
      '--format=esm',
      '--target=node20',
      '--outfile=bundle.mjs',
    ];
    await app.tool('esbuild', ['src/main.ts', ...bundling, `--banner:js=${banner}`, ...external]);

    const elsewhere = await mkdtemp(join(tmpdir(), 'lock-bundle-'));
    try {
      await cp(join(app.folder, 'bundle.mjs'), join(elsewhere, 'bundle.mjs'));
      expect(await readdir(elsewhere)).toEqual(['bundle.mjs']);
      expect(result(await app.node('bundle.mjs', env(), elsewhere))).toEqual(exercised);
    } finally {
      await rm(elsewhere, { recursive: true, force: true });
    }
  });
});
