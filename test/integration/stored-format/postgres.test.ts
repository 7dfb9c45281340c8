import { describe, expect, it } from '@jest/globals';
import { postgresStore } from '../../../lib/stores/postgres/index.js';
import { LockApp } from '../../support/lock-app.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { whereThereIsPostgres } from '../../support/where-there-is.js';
import { unknownFormatRules } from './unknown-format.rules.js';

whereThereIsPostgres('PostgreSQL: the format of its locks', () => {
  unknownFormatRules('PostgreSQL', async () => {
    const server = await PostgresServer.startWithSchema();
    const client = await server.client();
    await client.query(
      "CREATE FUNCTION distributed_lock.format() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '2 3.0.0' $$",
    );
    return {
      module: { store: postgresStore({ connection: server.url }) },
      names: async () => {
        const { rows } = await client.query('SELECT owner FROM distributed_lock.holds ORDER BY owner');
        return rows.map(({ owner }) => String(owner));
      },
      close: () => server.close(),
    };
  });

  describe('PostgreSQL with the schema of a later version', () => {
    it('keeps it when a process of this version starts with createSchema: true', async () => {
      const server = await PostgresServer.startWithSchema();
      const client = await server.client();
      const later = 'SELECT 1000';
      await client.query(
        `CREATE OR REPLACE FUNCTION distributed_lock.version() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ ${later} $$`,
      );
      const store = postgresStore({ connection: server.url, createSchema: true });
      const app = await LockApp.start({ store });
      await (await app.locks.acquire('order:42')).release();
      await app.close();
      const { rows } = await client.query('SELECT distributed_lock.version() AS version');
      expect(rows).toEqual([{ version: 1_000 }]);
      await server.close();
    });
  });
});
