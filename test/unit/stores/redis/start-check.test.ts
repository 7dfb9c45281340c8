import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { ServerConnection } from '../../../../lib/stores/redis/connection/server-connection.js';
import { descriptionOf, examineServer } from '../../../../lib/stores/redis/doctor/server-checks.js';

/** A server with this reply to INFO that accepts every command, or no script. */
function serverWith(info: string, refusal: string | undefined): Redis {
  const client = {
    on: () => client,
    connect: () => Promise.resolve(),
    quit: () => Promise.resolve('OK'),
    disconnect: () => undefined,
    info: () => Promise.resolve(info),
    hget: () => Promise.resolve(null),
    ping: () => Promise.resolve('PONG'),
    subscribe: () => Promise.resolve(1),
    ssubscribe: () => Promise.resolve(1),
    evalsha: () => Promise.resolve([]),
    call: (name: string) => {
      if (name === 'INFO') return Promise.resolve(info);
      if (name !== 'EVAL' || refusal === undefined) return Promise.resolve([]);
      return Promise.reject(Object.assign(new Error(refusal), { name: 'ReplyError' }));
    },
  };
  return client as unknown as Redis;
}

const USUAL = ['maxmemory_policy:noeviction', 'cluster_enabled:0', 'role:master', 'connected_slaves:0'];

async function check(
  lines: readonly string[],
  { cluster = false, refusal }: { readonly cluster?: boolean; readonly refusal?: string } = {},
) {
  const redis = serverWith(['# Server', ...lines, ...USUAL, ''].join('\r\n'), refusal);
  const connection = { redis, watch: { request: (reply: unknown) => reply } };
  const { info, mode, findings } = await examineServer({
    address: 'here:6379',
    user: 'default',
    rights: { prefix: 'lock:' },
    used: { cluster, replicas: false, database: false },
    replicas: 0,
    channel: 'lock:@:grants:client',
    trial: 'lock:@:check:client',
    format: 'lock:@:format',
    link: {
      ...connection,
      another: () => connection,
      connect: () => Promise.resolve(),
      end: () => undefined,
    } as unknown as ServerConnection,
  });
  const problems = findings.filter(({ level }) => level === 'problem');
  return { description: info && descriptionOf(info), mode, warnings: problems.map(({ text }) => text) };
}

describe('the version check at the start', () => {
  it.each(['6.2.0', '6.10.1', '7.0.15', '8.2.1'])('accepts Redis %s', async (version) => {
    expect(await check([`redis_version:${version}`])).toEqual({
      description: `Redis ${version}, noeviction`,
      mode: 'p',
      warnings: [],
    });
  });

  it.each([
    ['6.2.14', 'a'],
    ['7.0.0', 's'],
    ['10.0.0', 's'],
  ])('P41: in a cluster of Redis %s clients subscribe by %s', async (version, mode) => {
    expect((await check([`redis_version:${version}`], { cluster: true })).mode).toBe(mode);
  });

  it.each(['5.0.14', '6.0.16'])('warns of Redis %s', async (version) => {
    const { warnings } = await check([`redis_version:${version}`]);
    expect(warnings).toEqual([
      `Redis at here:6379 is version ${version}; locks need Redis 6.2 or Valkey 8.1, or newer. Upgrade the server.`,
    ]);
  });

  it('reports Valkey by its own version', async () => {
    const lines = ['redis_version:7.2.4', 'server_name:valkey', 'valkey_version:8.1.1'];
    expect(await check(lines)).toEqual({
      description: 'Valkey 8.1.1, noeviction',
      mode: 'p',
      warnings: [],
    });
  });

  it.each([
    "NOPERM this user has no permissions to run the 'eval' command",
    "ERR The user executing the script can't run this command or subcommand script",
    'ERR ACL failure in script: User lock has no permissions to run the get command script',
  ])('warns of a missing right, in the wording of the server: %s', async (refusal) => {
    const { warnings } = await check(['redis_version:7.2.4'], { refusal });
    expect(warnings).toEqual([expect.stringContaining('lacks rights that locks need: EVAL ')]);
  });
});
