import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DistributedLockOptions } from '../../lib/index.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { Endings } from '../support/endings.js';
import { freePort } from '../support/free-port.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer, type TestPgClient } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { rejectionOf } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';

const endings = new Endings();

/** The message of a failed call; the log has the same advice. */
const failureOf = async (options: DistributedLockOptions): Promise<string> => {
  const app = endings.app(await LockApp.start(options));
  const { message } = (await rejectionOf(app.locks.acquire('key', { waitTime: 0 }))) as Error;
  const [, advice = 'none'] = /\. ([A-Z][^"]*)$/.exec(message) ?? [];
  expect(app.log.lines.map((line) => line.message).join()).toContain(advice);
  return message;
};

describe('errors say how to fix the cause: Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  it('a wrong password and a missing one', async () => {
    const url = new URL(await server.addUser('shop', 'right', ['~*', '&*', '+@all']));
    url.password = 'wrong';
    expect(await failureOf({ redis: url.href })).toMatch(
      /WRONGPASS.*accepts neither this user nor this password.*URL\.$/,
    );
    const client = server.client();
    await client.config('SET', 'requirepass', 'secret');
    try {
      expect(await failureOf({ redis: server.url })).toMatch(
        /NOAUTH.*accepts neither this user nor this password.*URL\.$/,
      );
    } finally {
      await client.config('SET', 'requirepass', '');
    }
  });

  it('missing rights', async () => {
    const url = await server.addUser('poor', 'right', ['~*', '&*', '+@all', '-evalsha', '-eval']);
    expect(await failureOf({ redis: url })).toMatch(
      /NOPERM.*Give the Redis user the rights that it lacks.*list them\.$/,
    );
  });

  it('an unknown host, a port without a listener, and TLS on one side', async () => {
    expect(await failureOf({ redis: 'redis://redis.invalid:6379' })).toMatch(
      /The name of the host is not known here.*DNS\.$/,
    );
    const port = String(await freePort());
    expect(await failureOf({ redis: `redis://127.0.0.1:${port}` })).toMatch(
      /Nothing listens at that address.*machine\.$/,
    );
    expect(await failureOf({ redis: `rediss://127.0.0.1:${String(server.port)}` })).toMatch(
      /TLS is used on (one side|both)/,
    );
  });

  it('a quorum reports the advice of its members', async () => {
    const nowhere = await Promise.all([freePort(), freePort(), freePort()]);
    const quorum = nowhere.map((port) => `redis://127.0.0.1:${String(port)}`);
    expect(await failureOf({ quorum })).toMatch(/no majority.*Nothing listens at that address.*machine\.$/);
  });
});

describe('errors say how to fix the cause: etcd and ZooKeeper', () => {
  it('a port without a listener', async () => {
    const host = `127.0.0.1:${String(await freePort())}`;
    for (const store of [etcdStore({ hosts: host }), zookeeperStore({ hosts: host })]) {
      expect(await failureOf({ store })).toMatch(/Nothing listens at that address.*machine\.$/);
    }
  });

  it('an unknown host', async () => {
    for (const store of [
      etcdStore({ hosts: 'locks.invalid:2379' }),
      zookeeperStore({ hosts: 'locks.invalid:2181' }),
    ]) {
      expect(await failureOf({ store })).toMatch(/The name of the host is not known here.*DNS\.$/);
    }
  });
});

whereThereIsPostgres('advice with postgres', () => {
  describe('errors say how to fix the cause: PostgreSQL', () => {
    let server: PostgresServer;
    let admin: TestPgClient;
    beforeAll(async () => {
      server = await PostgresServer.startWithSchema({ access: ['host all shop 127.0.0.1/32 scram-sha-256'] });
      admin = await server.client();
      await admin.query(
        "CREATE ROLE shop LOGIN PASSWORD 'right'; CREATE ROLE poor LOGIN; CREATE ROLE one LOGIN CONNECTION LIMIT 0",
      );
    });
    afterAll(() => server.close());

    const failureAs = async (user: string, password?: string): Promise<string> => {
      const url = new URL(server.url);
      url.username = user;
      if (password !== undefined) url.password = password;
      return await failureOf({ store: postgresStore({ connection: url.href }) });
    };

    it('a wrong password, missing rights, too many connections', async () => {
      expect(await failureAs('shop', 'wrong')).toMatch(
        /accepts neither this user nor this password.*pg_hba\.conf\.$/,
      );
      expect(await failureAs('poor')).toMatch(
        /42501.*Give the user the rights to the schema of locks: USAGE; .*EXECUTE on its functions\.$/,
      );
      expect(await failureAs('one')).toMatch(/too many connections.*Raise `max_connections`.*connections\.$/);
    });

    it('a database that is read-only or does not exist', async () => {
      await admin.query('ALTER ROLE shop SET default_transaction_read_only = on');
      await admin.query(
        'GRANT USAGE ON SCHEMA distributed_lock TO shop; GRANT ALL ON ALL TABLES IN SCHEMA distributed_lock TO shop; GRANT ALL ON ALL SEQUENCES IN SCHEMA distributed_lock TO shop',
      );
      expect(await failureAs('shop', 'right')).toMatch(/25006.*Use the address of the primary.*itself\.$/);
      const connection = server.url.replace(/postgres$/, 'nowhere');
      expect(await failureOf({ store: postgresStore({ connection }) })).toMatch(
        /Create the database.*URL\.$/,
      );
    });
  });
});
