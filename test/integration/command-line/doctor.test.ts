import { describe, expect, it } from '@jest/globals';
import { aclRules } from '../../../lib/stores/redis/doctor/acl-rules.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine, runHere } from '../../support/command-line.js';
import { RedisCluster } from '../../support/redis-cluster.js';
import { RedisServer, type RedisSettings } from '../../support/redis-server.js';
import { ServerFleet } from '../../support/server-fleet.js';
import { canSetServerClocks } from '../../support/server-clock.js';

interface Finding {
  readonly server: string;
  readonly check: string;
  readonly level: 'ok' | 'warning' | 'problem';
  readonly text: string;
}

interface Report {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  readonly code: number | null;
}

/** The expected warning for test servers, which have no persistence. */
const USUAL = ['persistence'];

async function doctor(...args: string[]): Promise<Report> {
  const { code, stdout, stderr } = await runHere(['doctor', '--json', ...args]);
  expect(stderr).toBe('');
  return { ...(JSON.parse(stdout) as Omit<Report, 'code'>), code };
}

/** Warnings and problems, by check. */
function findingsByCheck({ findings }: Report): Record<string, string> {
  const bad = findings.filter(({ level }) => level !== 'ok');
  return Object.fromEntries(bad.map(({ check, level, text }) => [check, `${level}: ${text}`]));
}

async function withServer(
  settings: RedisSettings,
  test: (server: RedisServer) => Promise<void>,
): Promise<void> {
  const server = await RedisServer.start({ settings });
  try {
    await test(server);
  } finally {
    await server.close();
  }
}

describe('O25: nestjs-distributed-lock doctor', () => {
  const scene = new RedisScene();

  it('finds no problem in a good server, and leaves nothing behind', async () => {
    await withServer({ appendonly: 'yes', appendfsync: 'always' }, async (server) => {
      const report = await doctor('--redis', server.url);
      expect(findingsByCheck(report)).toEqual({});
      expect(report).toMatchObject({ ok: true, code: 0 });
      const checks = report.findings.map(({ check }) => check);
      expect(checks).toEqual([
        'connection',
        'version',
        'role',
        'rights',
        'eviction',
        'persistence',
        'clock',
        'latency',
        'lock',
        'pub/sub',
      ]);
      const left = (await server.client().keys('*')).filter((name) => !/@:(fence|gone)/.test(name));
      expect(left).toEqual([]);
    });
  });

  it('prints the findings as text', async () => {
    const { code, stdout, stderr } = await runHere(['doctor', '--redis', scene.url]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toBe(`Redis at 127.0.0.1:${scene.server.port}`);
    expect(lines[1]).toMatch(/^ {2}ok {7}connection {3}connected in \d+ ms$/);
    expect(lines.find((line) => line.includes('persistence'))).toMatch(
      /^ {2}warning {2}persistence {2}It keeps nothing/,
    );
    expect(lines.at(-1)).toMatch(
      /^ {2}ok {2}pub\/sub {2}the waiter acquired the lock [\d.]+ ms after its release$/,
    );
  });

  it('finds locks under other prefixes', async () => {
    const [app, other] = [
      await scene.app({ keyPrefix: 'shop:' }),
      await scene.app({ keyPrefix: 'shop:eu:' }),
    ];
    const held = [await app.locks.acquire('a'), await app.locks.acquire('b'), await other.locks.acquire('a')];
    const { url } = scene.server;
    const wrong = await doctor('--redis', url);
    expect(wrong).toMatchObject({ ok: true, code: 0 });
    expect(findingsByCheck(wrong)['prefix']).toBe(
      'warning: No lock is held under the prefix "lock:", but under "shop:" (2), "shop:eu:" (1). ' +
        'If your application sets keyPrefix, give the same, with --key-prefix.',
    );
    const right = await doctor('--redis', url, '--key-prefix', 'shop:');
    expect(findingsByCheck(right)['prefix']).toBeUndefined();
    expect(right.findings).toContainEqual(
      expect.objectContaining({
        check: 'prefix',
        text: 'locks are also held under the prefixes "shop:eu:" (1)',
      }),
    );
    await Promise.all(held.map((handle) => handle.release()));
    expect(findingsByCheck(await doctor('--redis', url))['prefix']).toBeUndefined();
  });

  it('says that it looked at a part of a large database only', async () => {
    await withServer({}, async (server) => {
      const fill = "for number = 1, 150000 do redis.call('SET', 'filler:' .. number, '') end";
      await server.client().eval(fill, 0);
      const { findings } = await doctor('--redis', server.url);
      expect(findings).toContainEqual(
        expect.objectContaining({
          check: 'prefix',
          level: 'ok',
          text: 'only 100000 keys of the database were looked at for locks under other prefixes',
        }),
      );
    });
  });

  const withoutMessages = /^problem: .*not by a message\. .*once a second/;
  it.each<[string, RedisSettings, string, RegExp]>([
    [
      'an eviction policy that can remove locks',
      { 'maxmemory-policy': 'allkeys-lru' },
      'eviction',
      /^problem: .*allkeys-lru.*Set maxmemory-policy to noeviction/,
    ],
    ['no messages without SUBSCRIBE', { 'rename-command': ['SUBSCRIBE', ''] }, 'pub/sub', withoutMessages],
    ['no messages without PUBLISH', { 'rename-command': ['PUBLISH', ''] }, 'pub/sub', withoutMessages],
  ])('finds %s', async (_, settings, check, message) => {
    await withServer(settings, async ({ url }) => {
      const report = await doctor('--redis', url);
      expect(findingsByCheck(report)[check]).toMatch(message);
      expect(report).toMatchObject({ ok: false, code: 1 });
    });
  });

  it.each<[RedisSettings, RegExp]>([
    [{}, /keeps nothing on disk: a restart forgets all locks.*appendonly yes/],
    [{ save: '900 1' }, /snapshots only \(save 900 1\)/],
    [{ appendonly: 'yes', appendfsync: 'everysec' }, /up to a second of locks.*appendfsync always/],
  ])('finds how much a restart forgets: %j', async (settings, message) => {
    await withServer(settings, async ({ url }) => {
      const report = await doctor('--redis', url);
      expect(Object.keys(findingsByCheck(report))).toEqual(USUAL);
      expect(findingsByCheck(report)['persistence']).toMatch(/^warning: /);
      expect(findingsByCheck(report)['persistence']).toMatch(message);
      expect(report).toMatchObject({ ok: true, code: 0 });
    });
  });

  it('finds a server whose memory is nearly full, and one whose memory is full', async () => {
    const used = Number(/used_memory:(\d+)/.exec(await scene.client.info('memory'))?.[1]);
    try {
      await scene.client.config('SET', 'maxmemory', String(Math.round(used * 1.05)));
      expect(findingsByCheck(await doctor('--redis', scene.url))['memory']).toMatch(
        / % of maxmemory is used.*Raise maxmemory/,
      );
      await scene.client.config('SET', 'maxmemory', '100000');
      const full = findingsByCheck(await doctor('--redis', scene.url));
      expect(full['memory']).toMatch(/^problem: /);
      expect(full['lock']).toMatch(/^problem: .*OOM/);
      expect(full).not.toHaveProperty('grants');
    } finally {
      await scene.client.config('SET', 'maxmemory', '0');
    }
  });

  it('finds no problem with the rights of locks, except that list needs one more', async () => {
    const used = { cluster: false, sharded: false, replicas: false, database: false };
    const redis = await scene.server.addUser('exact', 'geheim', aclRules({ prefix: 'lock:' }, used));
    const report = await doctor('--redis', redis);
    expect(Object.keys(findingsByCheck(report)).sort()).toEqual(['listing', ...USUAL]);
    expect(findingsByCheck(report)['listing']).toMatch(/^warning: .*ACL SETUSER exact \+scan$/);
    expect(report.code).toBe(0);
  });

  it('finds a missing database', async () => {
    const report = await doctor('--redis', `${scene.url}/99`);
    expect(findingsByCheck(report)['database']).toMatch(
      /^problem: Redis does not have the database .*Choose a database/,
    );
    expect(report.code).toBe(1);
  });

  it('finds the cause of a failed connection', async () => {
    const { port } = scene.server;
    const proxy = await scene.proxy();
    await proxy.refuse();
    const cases: [string, RegExp][] = [
      [`redis://127.0.0.1:${proxy.port}`, /ECONNREFUSED.*Nothing listens at that address/],
      [`redis://me:geheim@127.0.0.1:${port}`, /WRONGPASS.*neither this user nor this password/],
      ['redis://no-such-host.invalid', /(ENOTFOUND|EAI_AGAIN).*not known here/],
    ];
    for (const [url, message] of cases) {
      const report = await doctor('--redis', url);
      expect(findingsByCheck(report)['connection']).toMatch(message);
      expect(report.code).toBe(1);
      expect(JSON.stringify(report)).not.toContain('geheim');
    }
  });

  (canSetServerClocks ? it : it.skip)('finds a clock that is wrong', async () => {
    const server = await RedisServer.start({ clock: true });
    try {
      server.setClock(90_000);
      const report = await doctor('--redis', server.url);
      expect(findingsByCheck(report)['clock']).toMatch(
        /^warning: (89|90)\.\d+ s ahead of this machine's.*Synchronise/,
      );
      expect(report.code).toBe(0);
    } finally {
      await server.close();
    }
  });

  it('examines every server of a quorum and the locks of all', async () => {
    const fleet = await ServerFleet.start(3);
    try {
      const args = fleet.urls.flatMap((url) => ['--redis', url]);
      const well = await doctor(...args);
      expect(Object.keys(findingsByCheck(well))).toEqual(USUAL);
      expect(new Set(well.findings.map(({ server }) => server)).size).toBe(4);
      const held = await CommandLine.run(['lock', 'k', ...args, '--hold-at-least=10m', '--', 'true']);
      expect(held).toMatchObject({ code: 0, stderr: '' });
      await fleet.servers[0]!.kill();
      expect((await runHere(['list', ...args])).stdout).toMatch(/^k .* true /m);
      const missing = await doctor(...args);
      expect(missing.findings.filter(({ level }) => level === 'problem')).toMatchObject([
        { check: 'connection', server: `Redis at 127.0.0.1:${fleet.servers[0]!.port}` },
      ]);
      expect(missing.code).toBe(1);
    } finally {
      await fleet.close();
    }
  });

  it('examines every primary of a cluster', async () => {
    const cluster = await RedisCluster.start({ replicasEach: 0 });
    try {
      const report = await doctor('--cluster', '--redis', `redis://127.0.0.1:${cluster.nodes[0]!.port}`);
      expect(Object.keys(findingsByCheck(report))).toEqual(USUAL);
      expect(new Set(report.findings.map(({ server }) => server)).size).toBe(4);
      const single = await doctor('--redis', `redis://127.0.0.1:${cluster.nodes[0]!.port}`);
      expect(findingsByCheck(single)['role']).toMatch(/is part of a Redis Cluster/);
    } finally {
      await cluster.close();
    }
  });
});
