import { describe, expect, it } from '@jest/globals';
import { postgresConnector, type PgClient } from '../../../../lib/stores/postgres/postgres-connection.js';
import { prepareConnection, verifyDatabase } from '../../../../lib/stores/postgres/start-check.js';
import { postgresMigration } from '../../../../lib/stores/postgres/index.js';

/** The facts of a suitable server. */
const GOOD = {
  pid: 7,
  version: '15.4',
  number: 150_004,
  role: 'shop',
  database: 'shop',
  encoding: 'UTF8',
  isolation: 'read committed',
  commit: 'on',
  standbys: 0,
  synchronous: '',
  standby: false,
  readonly: false,
  usage: true,
};

/** The parts of the schema, as the migration creates them. */
function partsOf(allowed: boolean): object[] {
  const names = postgresMigration().matchAll(/"distributed_lock"\.(\w+)/g);
  return Array.from(names, ([, name]) => ({ name, allowed }));
}

/** The result of the check for a server with these facts. */
async function check(facts: Partial<typeof GOOD>, allowed = true) {
  const sent: string[] = [];
  const client = {
    processID: GOOD.pid,
    query: (text: string) => {
      sent.push(text);
      if (text.includes('pg_backend_pid'))
        return Promise.resolve({ rows: [{ facts: { ...GOOD, ...facts } }] });
      if (text.includes('pg_proc')) return Promise.resolve({ rows: partsOf(allowed) });
      return Promise.resolve({ rows: text.startsWith('SET') ? [] : [{ version: 1 }] });
    },
  };
  const connector = postgresConnector('connection', 'postgres://shop@db/shop');
  const result = await prepareConnection(
    client as unknown as PgClient,
    { connector, schema: 'distributed_lock' },
    2_000,
  );
  return { ...result, settings: sent.find((text) => text.startsWith('SET')) };
}

/** What the servers of test/faults don't show. */
describe('the check of PostgreSQL at the start', () => {
  it('rejects a standby, which accepts no writes', async () => {
    await expect(check({ standby: true })).rejects.toThrow(
      'db:5432/shop is a standby: locks need the primary',
    );
  });

  it('warns of rights to a part of the schema that the user lacks', async () => {
    expect((await check({}, false)).warnings).toEqual([
      expect.stringMatching(/The user "shop".*GRANT USAGE ON SCHEMA "distributed_lock" TO "shop"/),
    ]);
  });

  it('does not report missing rights to a schema that another process creates meanwhile', async () => {
    let isCreated = false;
    const query = (text: string) => {
      const rows = text.includes('pg_proc')
        ? isCreated
          ? partsOf(true)
          : []
        : [{ facts: { ...GOOD, usage: isCreated } }];
      isCreated = true;
      return Promise.resolve(rows as never[]);
    };
    const connector = postgresConnector('connection', 'postgres://shop@db/shop');
    await expect(verifyDatabase(query, { connector, schema: 'distributed_lock' })).rejects.toThrow(
      'PostgreSQL has no schema "distributed_lock" for locks',
    );
  });

  it.each([
    [
      'a version that is too old',
      { number: 110_000, version: '11.2' },
      /PostgreSQL 11.2 is too old.*13 or newer/,
    ],
    ['another encoding', { encoding: 'LATIN1' }, /encoded in LATIN1.*encoded in UTF8/],
    [
      'commits that are not written, behind a pooler',
      { pid: 8, commit: 'off' },
      /synchronous_commit is off.*ALTER ROLE "shop" SET synchronous_commit = on/,
    ],
  ])('warns of %s, with a remedy', async (_, facts, warning) => {
    const { warnings } = await check(facts);
    expect(warnings).toEqual([expect.stringMatching(warning)]);
  });

  it('overrides settings of the user in its own sessions, but not behind a pooler', async () => {
    const { settings } = await check({ isolation: 'serializable', commit: 'off' });
    expect(settings).toContain("SET default_transaction_isolation = 'read committed'");
    expect(settings).toContain('SET synchronous_commit = on');
    expect(settings).toContain('SET statement_timeout = 0');
    expect((await check({ pid: 8 })).settings).toBeUndefined();
  });
});
