import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LockHealthIndicator, type LockHealth } from '../../lib/health/index.js';
import type { Redis } from 'ioredis';
import type { DistributedLockOptions } from '../../lib/index.js';
import { LockStoreError, type LockStore } from '../../lib/stores/port/index.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { postgresMigration, postgresStore } from '../../lib/stores/postgres/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer, type TestPgClient } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { rejectionOf, until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';

/** With no tolerance for unreachable stores. */
const healthOf = async ({ admin }: LockApp): Promise<LockHealth<'up' | 'down'>> =>
  (await new LockHealthIndicator(admin).isHealthy('locks', { unreachableFor: 0, probeTimeout: 5_000 })).locks;

const isUp = async (app: LockApp): Promise<void> => {
  await until('it is up', async () => (await healthOf(app)).status === 'up', { deadline: 10_000 });
  await (await app.locks.acquire('free')).release();
};

/** Health reports the cause, without a failed call before it. */
const isDown = async (app: LockApp, why: RegExp): Promise<void> => {
  let health = await healthOf(app);
  await until(
    `it is down: ${String(why)}`,
    async () => {
      health = await healthOf(app);
      return health.status === 'down' && why.test(health.reasons.join());
    },
    { deadline: 10_000 },
  ).catch(() => {
    expect(health).toMatchObject({ status: 'down', reasons: [expect.stringMatching(why)] });
  });
  expect(await rejectionOf(app.locks.acquire('free', { waitTime: 0 }))).toMatchObject({
    name: 'LockUnavailableError',
  });
};

describe('F57: health is down while Redis grants no lock', () => {
  const endings = new Endings();
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const start = async (options: Partial<DistributedLockOptions> = {}): Promise<LockApp> => {
    const app = await LockApp.start({ redis: server.url, ...options });
    return endings.app(app);
  };

  it.each<[string, (client: Redis) => Promise<unknown>, (client: Redis) => Promise<unknown>, RegExp]>([
    [
      'after it has become a replica',
      (client) => client.replicaof('127.0.0.1', '1'),
      (client) => client.replicaof('NO', 'ONE'),
      /has granted no lock for .*READONLY/,
    ],
    [
      'after its memory is full',
      (client) => client.config('SET', 'maxmemory', '1'),
      (client) => client.config('SET', 'maxmemory', '0'),
      /has granted no lock for .*OOM/,
    ],
    [
      'while it reaches too few replicas',
      (client) => client.config('SET', 'min-replicas-to-write', '1'),
      (client) => client.config('SET', 'min-replicas-to-write', '0'),
      /has granted no lock for .*NOREPLICAS/,
    ],
  ])('%s', async (_, spoil, repair, why) => {
    const client = server.client();
    const app = await start();
    await isUp(app);
    await spoil(client);
    try {
      await isDown(app, why);
    } finally {
      await repair(client);
    }
    await isUp(app);
  });

  it('while fewer replicas are connected than replicas.min', async () => {
    const app = await start({ replicas: { min: 1 } });
    await isDown(app, /has granted no lock for .*has 0 replicas connected, but replicas.min is 1/);
  });

  it.each(['evalsha', 'hset', 'time'])('after its user lost the right to use %s', async (command) => {
    const client = server.client();
    const rules = aclRules(
      { prefix: 'lock:' },
      { cluster: false, sharded: false, replicas: false, database: false },
    );
    const url = await server.addUser('shop', 'secret', rules);
    const app = await start({ redis: url });
    await isUp(app);
    await client.call('ACL', 'SETUSER', 'shop', `-${command}`);
    await isDown(
      app,
      new RegExp(`has granted no lock for .* (.*locks need: ${command} |.*NOPERM .*'${command}')`, 'i'),
    );
    await client.call('ACL', 'SETUSER', 'shop', `+${command}`);
    await isUp(app);
  });

  it('after its password was changed, once the connection is lost', async () => {
    const client = server.client();
    const url = await server.addUser('rotated', 'before', ['~*', '&*', '+@all']);
    const app = await start({ redis: url });
    await isUp(app);
    await client.call('ACL', 'SETUSER', 'rotated', 'resetpass', '>after');
    await client.call('CLIENT', 'KILL', 'USER', 'rotated');
    await isDown(app, /WRONGPASS/);
    await client.call('ACL', 'SETUSER', 'rotated', '>before');
    await isUp(app);
  });

  it('and no check writes anything while Redis grants locks', async () => {
    const client = server.client();
    const app = await start();
    await isUp(app);
    const written = async (): Promise<unknown> => {
      const info = await client.info();
      const counts = ['rdb_changes_since_last_save', 'master_repl_offset'];
      return counts.map((name) => new RegExp(`${name}:\\d+`).exec(info)?.[0]);
    };
    const before = await written();
    for (let check = 0; check < 5; check += 1) expect(await healthOf(app)).toMatchObject({ status: 'up' });
    expect(await written()).toEqual(before);
  });
});

whereThereIsPostgres('health with postgres', () => {
  describe('F57: health is down while PostgreSQL grants no lock', () => {
    const endings = new Endings();
    let server: PostgresServer;
    let admin: TestPgClient;
    beforeAll(async () => {
      server = await PostgresServer.startWithSchema();
      admin = await server.client();
    });
    afterAll(() => server.close());

    const start = async (connection = server.url): Promise<LockApp> =>
      endings.app(await LockApp.start({ store: postgresStore({ connection }) }));

    const functionsCalled = (name: string): string => `
      DO $$ BEGIN EXECUTE (SELECT string_agg(format('DROP FUNCTION %s CASCADE', oid::regprocedure), ';')
        FROM pg_proc WHERE proname = '${name}' AND pronamespace = 'distributed_lock'::regnamespace); END $$`;
    it.each([
      ['its function ask', functionsCalled('ask')],
      ['its function grant_hold', functionsCalled('grant_hold')],
      ['its function run', functionsCalled('run')],
      ['a table', 'DROP TABLE distributed_lock.tombstones'],
    ])('after %s was dropped', async (_, drop) => {
      const app = await start();
      await isUp(app);
      await admin.query(drop);
      try {
        await isDown(
          app,
          /has granted no lock for .*no schema "distributed_lock" for locks, or an old one.*postgresMigration/,
        );
      } finally {
        await admin.query(postgresMigration());
      }
      await isUp(app);
    });

    it.each([
      ['ALL TABLES IN SCHEMA distributed_lock', 'SELECT, INSERT, UPDATE, DELETE'],
      ['ALL FUNCTIONS IN SCHEMA distributed_lock', 'EXECUTE'],
      ['SCHEMA distributed_lock', 'USAGE'],
    ])('after the user lost its rights to %s', async (what, rights) => {
      await admin.query(`
        DROP ROLE IF EXISTS shop; CREATE ROLE shop LOGIN;
        REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA distributed_lock FROM PUBLIC;
        GRANT USAGE ON SCHEMA distributed_lock TO shop;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA distributed_lock TO shop;
        GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA distributed_lock TO shop;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA distributed_lock TO shop;`);
      try {
        const url = new URL(server.url);
        url.username = 'shop';
        const app = await start(url.href);
        await isUp(app);
        await admin.query(`REVOKE ${rights} ON ${what} FROM shop`);
        await isDown(app, /has granted no lock for .*GRANT USAGE ON SCHEMA/);
        await admin.query(`GRANT ${rights} ON ${what} TO shop`);
        await isUp(app);
      } finally {
        await endings.endApps();
        await admin.query(
          'DROP OWNED BY shop; DROP ROLE shop; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA distributed_lock TO PUBLIC;',
        );
      }
    });

    it('while the database is read-only', async () => {
      const app = await start();
      await isUp(app);
      await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
      await admin.query('SELECT pg_reload_conf()');
      try {
        await isDown(app, /has granted no lock for .*is read-only/);
      } finally {
        await admin.query('SET default_transaction_read_only = off');
        await admin.query('ALTER SYSTEM RESET default_transaction_read_only');
        await admin.query('SELECT pg_reload_conf()');
      }
      await isUp(app);
    });
  });
});

/** As a store whose token base, fence or disk is gone in a way that no read detects. */
describe('F57: health is down while a store serves reads but grants nothing', () => {
  const endings = new Endings();
  /** Selects the keys whose grants fail. */
  let fails: ((key: string) => boolean) | undefined;
  let asked = 0;

  const store = (): LockStore => {
    const real = new MemoryLockStore();
    return {
      name: real.name,
      open: (client) => {
        const session = real.open(client);
        const ask = session.acquire.bind(session);
        session.acquire = async (request) => {
          asked += 1;
          if (fails?.(request.key) !== true) return await ask(request);
          throw new LockStoreError('its base is gone', { inDoubt: false, retryable: false });
        };
        return session;
      },
    };
  };

  it('after a failed call, until a lock is granted', async () => {
    const app = endings.app(await LockApp.start({ store: store() }));
    await isUp(app);
    fails = () => true;
    expect(await healthOf(app)).toMatchObject({ status: 'up' });
    await rejectionOf(app.locks.acquire('key'));
    expect(await healthOf(app)).toMatchObject({
      status: 'down',
      reachable: true,
      reasons: [expect.stringMatching(/has granted no lock for .* s: its base is gone/)],
    });
    expect(app.admin.status().store).toMatchObject({ reachable: true, failingSince: expect.any(Number) });
    // Without a call of the application: a process that is down receives none.
    fails = undefined;
    expect(await healthOf(app)).toMatchObject({ status: 'up', reasons: [] });
    const before = asked;
    expect(await healthOf(app)).toMatchObject({ status: 'up' });
    expect(asked).toBe(before);
    expect(await app.admin.inspect('nestjs-distributed-lock:probe')).toBeNull();
  });

  it('but not after failures of single keys, nor for locks held elsewhere', async () => {
    const app = endings.app(await LockApp.start({ store: store() }));
    fails = (key) => key === 'bad';
    await rejectionOf(app.locks.acquire('bad'));
    expect(await healthOf(app)).toMatchObject({ status: 'up', reasons: [] });
    fails = undefined;
    const held = await app.locks.acquire('held');
    await rejectionOf(app.locks.acquire('held', { waitTime: 50 }));
    expect(await healthOf(app)).toMatchObject({ status: 'up', reasons: [] });
    await held.release();
  });

  it('degraded before unreachableFor, with the cause', async () => {
    const app = endings.app(await LockApp.start({ store: store() }));
    fails = () => true;
    await rejectionOf(app.locks.acquire('key'));
    const { locks } = await new LockHealthIndicator(app.admin).isHealthy('locks', {
      unreachableFor: 60_000,
      degradedStatus: 'degraded',
    });
    expect(locks).toMatchObject({
      status: 'degraded',
      reasons: [expect.stringContaining('grants no locks: its base is gone')],
    });
    fails = undefined;
  });
});
