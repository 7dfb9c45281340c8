import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { LockUnavailableError } from '../../lib/index.js';
import type { LockStore } from '../../lib/stores/port/index.js';
import {
  postgresMigration,
  postgresStore,
  type PostgresStoreOptions,
} from '../../lib/stores/postgres/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer, type TestPgClient } from '../support/postgres-server.js';
import { withUncaughtCollected } from '../support/uncaught.js';
import { rejectionOf, until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { startRules } from './rules/start.rules.js';

const PASSWORD = 's3cr3t-of-the-shop';

whereThereIsPostgres('PostgreSQL at the start', () => {
  describe('PostgreSQL at the start', () => {
    const endings = new Endings();
    let server: PostgresServer;
    let admin: TestPgClient;
    beforeAll(async () => {
      server = await PostgresServer.start({
        tls: true,
        access: ['host all shop,guest 127.0.0.1/32 scram-sha-256'],
      });
      admin = await server.client();
      for (const user of ['shop', 'guest']) await admin.query(`CREATE USER ${user} PASSWORD '${PASSWORD}'`);
    });
    afterEach(async () => {
      await admin.query(
        'DROP SCHEMA IF EXISTS distributed_lock CASCADE; DROP SCHEMA IF EXISTS "lo""cks" CASCADE',
      );
    });
    afterAll(() => server.close());

    const storeOf = (options: Partial<PostgresStoreOptions> = {}): LockStore =>
      postgresStore({ connection: server.url, ...options });
    const start = async (options: Partial<PostgresStoreOptions> = {}): Promise<LockApp> =>
      endings.app(await LockApp.start({ store: storeOf(options), shutdownTimeout: 50 }));
    const key = (): string => `key-${randomUUID()}`;
    const as = (user: string, password: string): PostgresStoreOptions['connection'] =>
      `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${String(server.port)}/postgres`;
    const host = (): object => ({ host: '127.0.0.1', port: server.port, database: 'postgres' });
    const grantTo = (user: string): Promise<unknown> =>
      admin.query(`GRANT USAGE ON SCHEMA distributed_lock TO ${user};
        GRANT ALL ON ALL TABLES IN SCHEMA distributed_lock TO ${user}; GRANT ALL ON ALL SEQUENCES IN SCHEMA distributed_lock TO ${user}`);

    it.each(['LATIN2', 'KOI8R', 'EUC_JP', 'EUC_KR', 'ISO_8859_5', 'SQL_ASCII'])(
      'keeps locks in a database with the encoding %s, after its migration',
      async (encoding) => {
        const database = `in_${encoding.toLowerCase()}`;
        await admin.query(
          `CREATE DATABASE ${database} ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`,
        );
        const connection = { host: '127.0.0.1', port: server.port, database, user: 'postgres' };
        const client = await server.client(database);
        await client.query(postgresMigration());
        const app = await start({ connection });
        const handle = await app.locks.acquire('key', { label: 'import' });
        expect(await app.admin.inspect('key')).toMatchObject({ label: 'import' });
        expect(await handle.release()).toBe('released');
        if (encoding === 'SQL_ASCII') return;
        // A key that the database can't store is the caller's problem, and the error says which.
        await expect(app.locks.acquire('🔒')).rejects.toThrow(
          /The encoding of the database lacks characters/,
        );
      },
    );

    startRules({
      endings,
      version: /\(PostgreSQL \d+\.\d+/,
      async plain() {
        await admin.query(postgresMigration());
        return storeOf();
      },
      async secure() {
        await admin.query(postgresMigration());
        const user = { ...host(), user: 'postgres' };
        return {
          trusting: [storeOf({ connection: { ...user, ssl: { ca: server.ca } } })],
          distrustful: [storeOf({ connection: { ...user, ssl: true } })],
        };
      },
      async guarded() {
        await admin.query(postgresMigration());
        await grantTo('shop');
        return {
          welcome: [storeOf({ connection: as('shop', PASSWORD) })],
          refused: [
            [
              storeOf({ connection: as('guest', PASSWORD) }),
              /GRANT USAGE ON SCHEMA "distributed_lock" TO "guest"/,
            ],
            [storeOf({ connection: as('shop', `${PASSWORD}-wrong`) }), /password authentication failed/],
          ],
          secret: PASSWORD,
        };
      },
      async apart() {
        await admin.query(postgresMigration());
        return [storeOf({ keyPrefix: 'a:' }), storeOf({ keyPrefix: 'b:' })];
      },
      nowhere: (port) => storeOf({ connection: server.urlOf(port) }),
    });

    it('logs what to run where the schema is missing, and works once it exists', async () => {
      const app = await start();
      expect(app.log.matching('no schema "distributed_lock"')).toHaveLength(1);
      const error = await rejectionOf(app.locks.acquire(key(), { waitTime: 300 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as Error).message).toContain('postgresMigration()');
      await admin.query(postgresMigration());
      // The migration can be run again.
      await admin.query(postgresMigration());
      await app.locks.withLock(key(), () => undefined);
    });

    it('an older schema keeps locks, and the log says how to bring it up to date', async () => {
      await admin.query(postgresMigration());
      await admin.query(
        `CREATE OR REPLACE FUNCTION distributed_lock.version() RETURNS integer LANGUAGE sql AS 'SELECT 0'`,
      );
      const app = await start();
      const old = 'The schema "distributed_lock" of locks is of version 0, not ';
      expect(app.log.matching(old)).toHaveLength(1);
      expect(app.log.matching('postgresMigration()')).toHaveLength(1);
      await app.admin.probe();
      const held = await app.locks.acquire(key());
      await admin.query(postgresMigration());
      expect(await held.release()).toBe('released');
      expect((await start()).log.matching(old)).toEqual([]);
    });

    it('needs no MD5, which hosts in FIPS mode reject', async () => {
      await admin.query(postgresMigration());
      await grantTo('shop');
      await admin.query('REVOKE EXECUTE ON FUNCTION pg_catalog.md5(text), pg_catalog.md5(bytea) FROM PUBLIC');
      try {
        const connection = as('shop', PASSWORD);
        const [one, other] = [await start({ connection }), await start({ connection })];
        const name = key();
        const held = await one.locks.acquire(name);
        const waiting = other.locks.acquire(name, { waitTime: 15_000 });
        await until('it waits', async () => (await one.admin.inspect(name))?.waiting === 1);
        expect(await held.release()).toBe('released');
        const next = await waiting;
        expect(await one.admin.forceRelease(name)).toBe(true);
        await until('its holder is notified', () => !next.isHeld);
      } finally {
        await admin.query('GRANT EXECUTE ON FUNCTION pg_catalog.md5(text), pg_catalog.md5(bytea) TO PUBLIC');
      }
    });

    it('creates the schema if asked to, under any name, also when several processes start together', async () => {
      const schema = 'lo"cks';
      const together = await Promise.all(
        Array.from({ length: 4 }, () => start({ createSchema: true, schema })),
      );
      const name = key();
      for (const app of together) expect(app.log.matching(/^(?!Locks are kept).*schema/)).toEqual([]);
      const tokens = await Promise.all(
        together.map(({ locks }) => locks.withLock(name, ({ token }) => token)),
      );
      expect(new Set(tokens).size).toBe(4);
    });

    it('F9: logs which rights a user lacks, and works once they are granted', async () => {
      await admin.query(postgresMigration());
      const app = await start({ connection: as('shop', PASSWORD) });
      const [warning = ''] = app.log.matching('GRANT USAGE');
      expect(warning).toContain('The user "shop" of PostgreSQL may not use the schema of locks.');
      const [grants = ''] = /GRANT .*;/.exec(warning) ?? [];
      await admin.query(grants);
      const other = await start({ connection: as('shop', PASSWORD) });
      expect(other.log.matching('GRANT')).toEqual([]);
      await other.locks.withLock(key(), () => undefined);
    });

    const cut = (): Promise<unknown> =>
      admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nestjs-distributed-lock'",
      );

    it('createSchema: true needs no right to create a schema that is up to date', async () => {
      await admin.query(postgresMigration());
      await grantTo('shop');
      const app = await start({ connection: as('shop', PASSWORD), createSchema: true });
      expect(app.log.lines.filter(({ level }) => level !== 'log')).toEqual([]);
      await app.locks.withLock(key(), () => undefined);
    });

    it('createSchema: true without rights to the schema: the log lists them, and it works once they are granted', async () => {
      await admin.query(postgresMigration());
      const app = await start({ connection: as('shop', PASSWORD), createSchema: true });
      const [warning = ''] = app.log.matching('GRANT USAGE');
      const error = await rejectionOf(app.locks.acquire(key(), { waitTime: 300 }));
      expect((error as Error).message).toContain('USAGE; SELECT, INSERT, UPDATE and DELETE on its tables');
      await admin.query(/GRANT .*;/.exec(warning)?.[0] ?? '');
      await app.locks.withLock(key(), () => undefined);
    });

    it('createSchema: true without the right to create it: the log names that right, and it works once it is granted', async () => {
      const app = await start({ connection: as('shop', PASSWORD), createSchema: true, schema: 'lo"cks' });
      const [warning = '', ...more] = app.log.matching('may not create the schema "lo"cks" of locks');
      expect(more).toEqual([]);
      const error = await rejectionOf(app.locks.acquire(key(), { waitTime: 300 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as Error).message).toContain('postgresMigration()');
      await admin.query(/GRANT .*;/.exec(warning)?.[0] ?? '');
      try {
        await cut();
        await until(
          'the schema is created',
          async () => {
            const tried = await app.locks.tryAcquire(key()).catch(() => null);
            return (await tried?.release()) === 'released';
          },
          { deadline: 30_000 },
        );
      } finally {
        await admin.query('REVOKE CREATE ON DATABASE postgres FROM shop; DROP OWNED BY shop');
      }
    });

    it('createSchema: true with an older schema of another owner: locks work, and the log says how to bring it up to date', async () => {
      await admin.query(postgresMigration());
      await grantTo('shop');
      await admin.query(
        `CREATE OR REPLACE FUNCTION distributed_lock.version() RETURNS integer LANGUAGE sql AS 'SELECT 0'`,
      );
      const app = await start({ connection: as('shop', PASSWORD), createSchema: true });
      expect(app.log.matching('as the owner of the schema')).toHaveLength(1);
      await app.locks.withLock(key(), () => undefined);
    });

    it('the migration may be part of a transaction, and run twice in it; the owner of an empty schema may run it', async () => {
      const client = await server.client();
      await client.query(`BEGIN; ${postgresMigration()}`);
      await client.query(postgresMigration());
      await client.query('ROLLBACK');
      const app = await start();
      expect(app.log.matching('no schema "distributed_lock"')).toHaveLength(1);
      await client.query('CREATE SCHEMA distributed_lock AUTHORIZATION shop; SET ROLE shop');
      // As a prepared statement, which is one statement.
      await client.query({ name: 'migration', text: postgresMigration() } as unknown as string);
      await app.locks.withLock(key(), () => undefined);
    });

    it('takes a password from a function, and encrypts all traffic with TLS', async () => {
      const password = (): Promise<string> => Promise.resolve(PASSWORD);
      await admin.query(postgresMigration());
      await grantTo('shop');
      const app = await start({ connection: { ...host(), user: 'shop', password, ssl: { ca: server.ca } } });
      await app.locks.withLock(key(), async () => {
        const { rows } = await admin.query(
          "SELECT bool_and(s.ssl) AS ssl FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.usename = 'shop'",
        );
        expect(rows).toEqual([{ ssl: true }]);
      });
    });

    it('works for a user with serializable transactions and asynchronous commits', async () => {
      await admin.query(postgresMigration());
      await admin.query(`CREATE USER careless; GRANT ALL ON SCHEMA distributed_lock TO careless;
        GRANT ALL ON ALL TABLES IN SCHEMA distributed_lock TO careless; GRANT ALL ON ALL SEQUENCES IN SCHEMA distributed_lock TO careless;
        ALTER ROLE careless SET default_transaction_isolation = 'serializable'; ALTER ROLE careless SET synchronous_commit = off;
        ALTER ROLE careless SET statement_timeout = 500`);
      const connection = server.url.replace('postgres@', 'careless@');
      const [one, other] = [await start({ connection }), await start({ connection })];
      const name = key();
      let inside = 0;
      const work = ({ locks }: LockApp): Promise<void>[] =>
        Array.from({ length: 10 }, () =>
          locks.withLock(name, { fair: true, waitTime: 30_000 }, async () => {
            expect((inside += 1)).toBe(1);
            await Promise.resolve();
            inside -= 1;
          }),
        );
      await Promise.all([...work(one), ...work(other)]);
    });

    it('a server with messages in another language counts as reachable, and its errors do not cause a local lock', async () => {
      const german = endings.until(await PostgresServer.start({ language: 'de' }));
      const app = endings.app(
        await LockApp.start({ store: postgresStore({ connection: german.url }), onUnavailable: 'local' }),
      );
      const error = await rejectionOf(app.locks.acquire(key(), { waitTime: 300 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      // In German, where the system has that locale.
      expect((error as Error).message).toMatch(/existiert nicht|does not exist/);
      expect((error as Error).message).toContain('postgresMigration()');
    });

    it('an error thrown by the user’s own stream is logged, crashes no process, and is retried: at the start and later', async () => {
      await admin.query(postgresMigration());
      let isBroken = true;
      let opened = 0;
      const stream = (): Duplex => {
        opened += 1;
        if (isBroken) throw new Error('the connector has no credentials yet');
        return new Socket();
      };
      const connection = { ...host(), user: 'postgres', stream };
      const uncaught = await withUncaughtCollected(async () => {
        const app = await start({ connection, listen: false });
        expect(app.log.matching('the connector has no credentials yet').length).toBeGreaterThan(0);
        await until('it tries again', () => opened > 2);
        isBroken = false;
        await app.locks.withLock(key(), { waitTime: 15_000 }, () => undefined);
        isBroken = true;
        const before = opened;
        await admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nestjs-distributed-lock'",
        );
        await until('it tries again', () => opened > before + 2);
        const error = await rejectionOf(app.locks.acquire(key(), { waitTime: 50 }));
        expect((error as Error).message).toContain('the connector has no credentials yet');
        isBroken = false;
        await app.locks.withLock(key(), { waitTime: 15_000 }, () => undefined);
      });
      expect(uncaught).toEqual([]);
    });

    it('certificate files that are missing for a moment, as while they are renewed, crash no process', async () => {
      await admin.query(postgresMigration());
      const directory = await mkdtemp(join(tmpdir(), 'lock-certificates-'));
      endings.until({ close: () => rm(directory, { recursive: true, force: true }) });
      const file = join(directory, 'ca.pem');
      await writeFile(file, String(server.ca));
      const connection = `${server.url}?sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`;
      const uncaught = await withUncaughtCollected(async () => {
        const app = await start({ connection, listen: false });
        await app.locks.withLock(key(), () => undefined);
        await rm(file);
        await admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'nestjs-distributed-lock'",
        );
        await until('it is reported', async () =>
          String(await rejectionOf(app.locks.acquire(key(), { waitTime: 0 }))).includes('no such file'),
        );
        await writeFile(file, String(server.ca));
        await app.locks.withLock(key(), { waitTime: 15_000 }, () => undefined);
      });
      expect(uncaught).toEqual([]);
    });
  });
});
