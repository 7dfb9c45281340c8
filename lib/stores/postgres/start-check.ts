import { LockStoreError } from '../port/lock-store.js';
import { checkFormat } from '../port/stored-format.js';
import { lacksRight } from './postgres-failure.js';
import type { PgClient, Row } from './postgres-connection.js';
import type { ResolvedPostgresOptions } from './postgres-options.js';
import { postgresMigration, quoted, SCHEMA_VERSION } from './schema.js';

export interface CheckResult {
  readonly description: string;
  /** For the operator's log, each with a remedy. */
  readonly warnings: readonly string[];
  /** Whether there is no pooler, so that settings and prepared statements stay with the connection. */
  readonly isDirect: boolean;
  /** Why the schema could not be created; also among the warnings. */
  readonly refusal: string | undefined;
}

const OLDEST = 130_000;
/** How many waits for a row lock fit into the time that a request may take. */
const LOCK_WAITS = 4;

/** The tables, the sequence and the functions that the migration creates. */
const PARTS = Array.from(
  postgresMigration({ schema: 's' }).matchAll(/^CREATE [A-Z ]+ "s"\.(\w+)/gm),
  ([, name = '']) => name,
);

type Query = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

interface Facts {
  readonly pid: number;
  readonly version: string;
  readonly number: number;
  readonly role: string;
  readonly database: string;
  readonly encoding: string;
  readonly isolation: string;
  readonly commit: string;
  readonly standbys: number;
  readonly synchronous: string;
  readonly standby: boolean;
  readonly readonly: boolean;
  /** Whether the user may use the schema. */
  readonly usage: boolean;
}

/** The tables, sequences and functions in the schema, and whether the user has the rights to each. */
type Parts = ReadonlyMap<string, boolean>;

/**
 * Prepares a new connection for locks, and collects warnings for the operator.
 *
 * @param createsSchema whether to create the schema, or bring it up to date
 */
export async function prepareConnection(
  client: PgClient,
  { connector, schema }: Pick<ResolvedPostgresOptions, 'connector' | 'schema'>,
  requestTimeout: number,
  createsSchema = false,
): Promise<CheckResult> {
  const query: Query = async (text, values = []) => (await client.query<Row>(text, [...values])).rows;
  // Before the rights: another process may create the schema in between, and would seem to have given none.
  const parts = await partsOf(query, schema);
  const facts = await factsOf(query, schema);
  // A standby never accepts writes.
  if (facts.standby) {
    throw new Error(`the server at ${connector.address} is a standby: locks need the primary`);
  }
  // A version with another format has marked the schema.
  if (facts.usage && parts.has('format')) {
    const [row] = await query(`SELECT ${quoted(schema)}.format()::text AS mark`);
    const place = `The schema "${schema}" of PostgreSQL at ${connector.address}`;
    checkFormat(row?.['mark'] as string | null | undefined, place, 'schema');
  }
  const isComplete = PARTS.every((part) => parts.has(part));
  let refusal: string | undefined;
  // A process of an older version that starts during a deployment keeps the schema of the newer one, which serves both.
  if (
    createsSchema &&
    !(isComplete && (!facts.usage || (await versionOf(query, schema)) >= SCHEMA_VERSION))
  ) {
    try {
      await client.query(postgresMigration({ schema }));
      return await prepareConnection(client, { connector, schema }, requestTimeout);
    } catch (error) {
      if (!lacksRight(error)) throw error;
      refusal = createRefusal(facts, schema, error);
    }
  }
  const isDirect = facts.pid === client.processID;
  if (isDirect) await client.query(ownSettings(facts, requestTimeout));
  const description = `PostgreSQL ${facts.version}${isDirect ? '' : ' behind a pooler'}`;
  const ofSchema = refusal ?? schemaProblem(facts, schema, parts) ?? (await ageWarning(query, schema));
  const warnings = [...serverWarnings(facts, isDirect), ...(ofSchema === undefined ? [] : [ofSchema])];
  return { description, warnings, isDirect, refusal };
}

/**
 * Checks everything that grants depend on: a server that accepts writes, the schema and the rights to it.
 *
 * @throws LockStoreError with the missing part and the remedy
 */
export async function verifyDatabase(
  query: Query,
  { connector, schema }: Pick<ResolvedPostgresOptions, 'connector' | 'schema'>,
): Promise<void> {
  const parts = await partsOf(query, schema);
  const facts = await factsOf(query, schema);
  if (facts.standby || facts.readonly) {
    const what = facts.standby ? 'a standby' : 'read-only';
    throw new LockStoreError(
      `the server at ${connector.address} is ${what}: locks need a primary that accepts writes`,
      { inDoubt: false, retryable: true },
    );
  }
  const problem = schemaProblem(facts, schema, parts);
  if (problem !== undefined) throw new LockStoreError(problem, { inDoubt: false, retryable: false });
}

async function factsOf(query: Query, schema: string): Promise<Facts> {
  const [row] = (await query(
    `SELECT to_jsonb(f) AS facts FROM (SELECT pg_backend_pid() AS pid, current_setting('server_version') AS version,
      current_setting('server_version_num')::integer AS number, current_user AS role, current_database() AS database,
      current_setting('server_encoding') AS encoding, current_setting('default_transaction_isolation') AS isolation,
      current_setting('synchronous_commit') AS commit, current_setting('synchronous_standby_names') AS synchronous,
      (SELECT count(*)::integer FROM pg_stat_replication) AS standbys, pg_is_in_recovery() AS standby,
      current_setting('transaction_read_only') = 'on' AS readonly,
      coalesce(has_schema_privilege(to_regnamespace($1)::oid, 'USAGE'), false) AS usage) AS f`,
    [quoted(schema)],
  )) as readonly { readonly facts: Facts }[];
  if (row === undefined) throw new Error('PostgreSQL sent no reply');
  return row.facts;
}

/** Settings of this session only. Those of the application, such as statement timeouts, are not meant for locks. */
function ownSettings({ isolation, commit, number }: Facts, requestTimeout: number): string {
  // A request that waits for a row delays all later ones. It has to end before the reply timeout, which closes the
  // connection unnoticed by the server.
  const lockTimeout = Math.max(1, Math.floor(requestTimeout / LOCK_WAITS));
  const settings = ['statement_timeout = 0', `lock_timeout = ${String(lockTimeout)}`, 'jit = off'];
  if (number >= 140_000) settings.push('idle_session_timeout = 0');
  if (isolation !== 'read committed') settings.push("default_transaction_isolation = 'read committed'");
  // A grant that is returned before it is written could be repeated after a crash.
  if (commit === 'off' || commit === 'local') settings.push('synchronous_commit = on');
  return settings.map((setting) => `SET ${setting}`).join('; ');
}

function serverWarnings(facts: Facts, isDirect: boolean): string[] {
  const { number, version, encoding, isolation, commit, standbys, synchronous } = facts;
  const warnings: string[] = [];
  if (number < OLDEST) warnings.push(`PostgreSQL ${version} is too old for locks: use 13 or newer.`);
  if (encoding !== 'UTF8') {
    warnings.push(
      `The database is encoded in ${encoding}, so that locks whose names have other characters can't be acquired. Keep ` +
        'locks in a database that is encoded in UTF8.',
    );
  }
  if (standbys > 0 && synchronous === '') {
    warnings.push(
      'PostgreSQL has standbys, but commits wait for none of them: a failover may lose held locks, so that two ' +
        "processes hold the same one. Set synchronous_standby_names, such as 'ANY 1 (*)', or let the guarded resource " +
        'check fencing tokens.',
    );
  }
  if (isDirect) return warnings;
  if (isolation !== 'read committed') {
    warnings.push(
      `Transactions are "${isolation}" by default, which locks can't use, and a pooler is in front of PostgreSQL. Set it ` +
        `for the user: ALTER ROLE ${quoted(facts.role)} SET default_transaction_isolation = 'read committed'.`,
    );
  }
  if (commit === 'off' || commit === 'local') {
    warnings.push(
      `synchronous_commit is ${commit}, so a crash of PostgreSQL may lose held locks. Set it for the user: ` +
        `ALTER ROLE ${quoted(facts.role)} SET synchronous_commit = on.`,
    );
  }
  return warnings;
}

const CREATE =
  'Run the SQL of postgresMigration() in nestjs-distributed-lock/postgres, or set createSchema: true.';

/** Why the schema stays as it is, with `createSchema: true`. */
function createRefusal({ role, database }: Facts, schema: string, { message }: Error): string {
  const user = quoted(role);
  return (
    `The user ${user} of PostgreSQL may not create the schema "${schema}" of locks, or bring it up to date (${message}). Run the ` +
    'SQL of postgresMigration() in nestjs-distributed-lock/postgres as the owner of the schema; or, if there is no schema yet, ' +
    `give the user the right to create it: GRANT CREATE ON DATABASE ${quoted(database)} TO ${user};`
  );
}

/** Why no lock can be acquired with this schema. */
function schemaProblem({ role, usage }: Facts, schema: string, parts: Parts): string | undefined {
  if (!PARTS.every((part) => parts.has(part))) {
    return `PostgreSQL has no schema "${schema}" for locks, or an old one. ${CREATE}`;
  }
  if (usage && PARTS.every((part) => parts.get(part))) return undefined;
  const lack = usage ? 'lacks rights that locks need' : 'may not use the schema of locks';
  return `The user ${quoted(role)} of PostgreSQL ${lack}. ${grants(quoted(schema), quoted(role))}`;
}

/** An older schema keeps locks, without what is new since. */
async function ageWarning(query: Query, schema: string): Promise<string | undefined> {
  const version = await versionOf(query, schema);
  if (version >= SCHEMA_VERSION) return undefined;
  return `The schema "${schema}" of locks is of version ${String(version)}, not ${String(SCHEMA_VERSION)}. Locks work, new options may not. ${CREATE}`;
}

async function versionOf(query: Query, schema: string): Promise<number> {
  const [row] = await query(`SELECT to_jsonb(${quoted(schema)}.version()) AS version`);
  return Number(row?.['version']);
}

async function partsOf(query: Query, schema: string): Promise<Parts> {
  const rows = (await query(
    `SELECT proname::text AS name, has_function_privilege(oid, 'EXECUTE') AS allowed
       FROM pg_proc WHERE pronamespace = to_regnamespace($1)
      UNION ALL
     SELECT relname::text, CASE relkind
         WHEN 'S' THEN has_sequence_privilege(oid, 'SELECT') AND has_sequence_privilege(oid, 'UPDATE')
         ELSE has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
          AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE') END
       FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind IN ('r', 'S')`,
    [quoted(schema)],
  )) as readonly { readonly name: string; readonly allowed: boolean }[];
  return new Map(rows.map(({ name, allowed }) => [name, allowed]));
}

function grants(s: string, role: string): string {
  return (
    `Give it these rights: GRANT USAGE ON SCHEMA ${s} TO ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN ` +
    `SCHEMA ${s} TO ${role}; GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA ${s} TO ${role}; GRANT EXECUTE ON ALL ` +
    `FUNCTIONS IN SCHEMA ${s} TO ${role};`
  );
}
