import { quoted, SCHEMA_VERSION } from '../schema/migration.js';
import type { ResolvedPostgresOptions } from '../postgres-options.js';
import type { PgClient } from './pg-client.js';

/** What is to be known of a server before locks are kept there. */
export interface CheckResult {
  readonly description: string;
  /** For the operator's log, each with a remedy. */
  readonly warnings: readonly string[];
  /** Whether the connection is the server's own, so that settings and prepared statements stay with it. */
  readonly isDirect: boolean;
}

const OLDEST = 120_000;
/** How many waits for a lock of PostgreSQL's own fit into the time that a request may take. */
const LOCK_WAITS = 4;

interface Facts {
  readonly pid: number;
  readonly version: string;
  readonly number: number;
  readonly role: string;
  readonly encoding: string;
  readonly isolation: string;
  readonly commit: string;
  readonly standbys: number;
  readonly synchronous: string;
  readonly standby: boolean;
  readonly schema: boolean;
  readonly usage: boolean;
}

/** Makes a new connection fit for locks, and finds out what an operator should know. */
export async function prepareConnection(
  client: PgClient,
  { connector, schema }: Pick<ResolvedPostgresOptions, 'connector' | 'schema'>,
  requestTimeout: number,
): Promise<CheckResult> {
  const facts = await factsOf(client, schema);
  // It keeps what others have; a lock there would never be written.
  if (facts.standby) {
    throw new Error(`the server at ${connector.address} is a standby: locks need the primary`);
  }
  const isDirect = facts.pid === client.processID;
  if (isDirect) await client.query(ownSettings(facts, requestTimeout));
  const description = `PostgreSQL ${facts.version}${isDirect ? '' : ' behind a pooler'}`;
  const warnings = [...serverWarnings(facts, isDirect), ...(await schemaWarnings(client, facts, schema))];
  return { description, warnings, isDirect };
}

async function factsOf(client: PgClient, schema: string): Promise<Facts> {
  const { rows } = await client.query<Facts>(
    `SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version,
      current_setting('server_version_num')::integer AS number, current_user AS role,
      current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
      current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS synchronous,
      (SELECT count(*)::integer FROM pg_stat_replication) AS standbys, pg_is_in_recovery() AS standby,
      -- To look into a schema that the user may not use is an error.
      CASE WHEN has_schema_privilege(to_regnamespace($2)::oid, 'USAGE') THEN to_regprocedure($1) IS NOT NULL
        ELSE false END AS schema,
      coalesce(has_schema_privilege(to_regnamespace($2)::oid, 'USAGE'), false) AS usage`,
    [`${quoted(schema)}.run(text[],jsonb)`, quoted(schema)],
  );
  const [facts] = rows;
  if (facts === undefined) throw new Error('PostgreSQL answered nothing');
  return facts;
}

/** Of this session only. What the application set for itself, such as time limits of statements, is not meant for locks. */
function ownSettings({ isolation, commit, number }: Facts, requestTimeout: number): string {
  // Who waits for a row that a transaction of somebody else has, keeps the others from theirs. It ends before we lose
  // patience with the connection, which the server does not notice.
  const lockTimeout = Math.max(1, Math.floor(requestTimeout / LOCK_WAITS));
  const settings = ['statement_timeout = 0', `lock_timeout = ${String(lockTimeout)}`, 'jit = off'];
  if (number >= 140_000) settings.push('idle_session_timeout = 0');
  if (isolation !== 'read committed') settings.push("default_transaction_isolation = 'read committed'");
  // A grant that is answered before it is written could be given twice after a crash.
  if (commit === 'off' || commit === 'local') settings.push('synchronous_commit = on');
  return settings.map((setting) => `SET ${setting}`).join('; ');
}

function serverWarnings(facts: Facts, isDirect: boolean): string[] {
  const { number, version, encoding, isolation, commit, standbys, synchronous } = facts;
  const warnings: string[] = [];
  if (number < OLDEST) warnings.push(`PostgreSQL ${version} is too old for locks: use 12 or newer.`);
  if (encoding !== 'UTF8') {
    warnings.push(
      `The database is encoded in ${encoding}, so that locks whose names have other characters can't be taken. Keep ` +
        'locks in a database that is encoded in UTF8.',
    );
  }
  if (standbys > 0 && synchronous === '') {
    warnings.push(
      'PostgreSQL has standbys, but commits wait for none of them: a failover may lose locks that are held, so that two ' +
        "processes hold the same one. Set synchronous_standby_names, such as 'ANY 1 (*)', or let the guarded resource " +
        'check fencing tokens.',
    );
  }
  if (isDirect) return warnings;
  if (isolation !== 'read committed') {
    warnings.push(
      `Transactions are "${isolation}" by default, which locks can't use, and a pooler stands before PostgreSQL. Set it ` +
        `for the user: ALTER ROLE ${quoted(facts.role)} SET default_transaction_isolation = 'read committed'.`,
    );
  }
  if (commit === 'off' || commit === 'local') {
    warnings.push(
      `synchronous_commit is ${commit}, so that a crash of PostgreSQL may lose locks that are held. Set it for the user: ` +
        `ALTER ROLE ${quoted(facts.role)} SET synchronous_commit = on.`,
    );
  }
  return warnings;
}

async function schemaWarnings(client: PgClient, facts: Facts, schema: string): Promise<string[]> {
  const s = quoted(schema);
  const role = quoted(facts.role);
  const create =
    'Run what postgresMigration() of nestjs-distributed-lock/postgres gives, or set createSchema: true.';
  if (!facts.schema) {
    // Of a schema that it may not use, a user sees nothing.
    return facts.usage || !(await isThere(client, schema))
      ? [`PostgreSQL has no schema "${schema}" for locks, or an old one. ${create}`]
      : [`The user ${role} of PostgreSQL may not use the schema of locks. ${grants(s, role)}`];
  }
  const { rows } = await client.query<{ version: number; allowed: boolean }>(
    `SELECT ${s}.version() AS version, ${['holds', 'waiters', 'tombstones', 'board']
      .map(
        (table) => `has_table_privilege('${s.replace(/'/g, "''")}.${table}', 'SELECT')
        AND has_table_privilege('${s.replace(/'/g, "''")}.${table}', 'INSERT')
        AND has_table_privilege('${s.replace(/'/g, "''")}.${table}', 'UPDATE')
        AND has_table_privilege('${s.replace(/'/g, "''")}.${table}', 'DELETE')`,
      )
      .join(' AND ')}
      AND has_sequence_privilege('${s.replace(/'/g, "''")}.tokens', 'SELECT')
      AND has_sequence_privilege('${s.replace(/'/g, "''")}.tokens', 'UPDATE') AS allowed`,
  );
  const [found] = rows;
  if (found?.allowed === false) {
    return [`The user ${role} of PostgreSQL may not do everything that locks need. ${grants(s, role)}`];
  }
  if (found !== undefined && found.version < SCHEMA_VERSION) {
    return [
      `The schema "${schema}" of locks is of version ${String(found.version)}, not ${String(SCHEMA_VERSION)}. ${create}`,
    ];
  }
  return [];
}

async function isThere(client: PgClient, schema: string): Promise<boolean> {
  const { rows } = await client.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]);
  return rows.length > 0;
}

function grants(s: string, role: string): string {
  return (
    `Give it these rights: GRANT USAGE ON SCHEMA ${s} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN ` +
    `SCHEMA ${s} TO ${role}; GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${s} TO ${role}; GRANT EXECUTE ON ALL ` +
    `FUNCTIONS IN SCHEMA ${s} TO ${role};`
  );
}
