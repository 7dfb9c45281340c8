import { check, checkNames, checkObject } from '../../model/option-checks.js';
import { requests } from './schema-requests.js';

/** Incremented with every change of the schema. Schemas and processes of all versions work together. */
export const SCHEMA_VERSION = 1;

export const DEFAULT_SCHEMA = 'distributed_lock';

/** PostgreSQL silently truncates longer names. */
const LONGEST_NAME = 63;

/** Options of {@link postgresMigration}. */
export interface PostgresMigrationOptions {
  /**
   * The schema for the tables and functions; 1 to 63 bytes. The same as in `postgresStore`.
   *
   * @default 'distributed_lock'
   */
  readonly schema?: string | undefined;
}

/**
 * The SQL that creates the schema for `postgresStore`, or brings it up to date: one statement. Run it as a migration of
 * your application, with the right to create a schema. You can run it again at any time, even while locks are in use.
 *
 * @throws LockOptionsError for an unusable schema name
 */
export function postgresMigration(options: PostgresMigrationOptions = {}): string {
  const where = 'postgresMigration';
  checkNames(where, checkObject(where, options), new Set(['schema']));
  const { schema = DEFAULT_SCHEMA } = options;
  checkSchemaName(where, schema);
  return migrationOf(quoted(schema));
}

/** @param s the schema, as written in SQL */
function migrationOf(s: string): string {
  const version = `
CREATE OR REPLACE FUNCTION ${s}.version() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ${String(SCHEMA_VERSION)} $$;
`;
  // One statement, so that it may be part of a transaction. One at a time: several processes of an application may start together.
  return `DO $migration$
BEGIN
PERFORM pg_advisory_xact_lock(6074331, 1);
-- Only then does it need the right to create a schema.
IF to_regnamespace('${literal(s)}') IS NULL THEN
  CREATE SCHEMA IF NOT EXISTS ${s};
END IF;
${tables(s)}${buildingBlocks(s)}${requests(s)}${version}
END
$migration$;
`;
}

/** @throws LockOptionsError unless PostgreSQL accepts the name */
export function checkSchemaName(where: string, schema: unknown): asserts schema is string {
  const isName = typeof schema === 'string' && /^(?!pg_)[^\0$]+$/.test(schema);
  const rule =
    `schema must be the name of a schema of 1 to ${String(LONGEST_NAME)} bytes, without "$" and not beginning with ` +
    "pg_, such as 'distributed_lock'";
  check(isName && Buffer.byteLength(schema) <= LONGEST_NAME, where, rule, schema);
}

/** A name as a quoted SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replace(/"/g, '""')}"`;
}

/** A text for use inside the quotes of an SQL literal. */
function literal(text: string): string {
  return text.replace(/'/g, "''");
}

/**
 * The tables. Times are µs of the server's clock, leases ms; a limit of 0 means any number. The row of a hold is deleted
 * with the hold: only the counter of the tokens stays. The board is informational, and may be lost with the server.
 *
 * A renewal changes no indexed column, so PostgreSQL rewrites the row in its page without touching an index.
 *
 * @param s the schema, as written in SQL
 */
function tables(s: string): string {
  return `
CREATE TABLE IF NOT EXISTS ${s}.holds (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  holders_limit integer NOT NULL,
  ends bigint NOT NULL,
  token bigint NOT NULL,
  since bigint NOT NULL,
  unclaimed boolean NOT NULL,
  label text NOT NULL,
  permits integer NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS ${s}.waiters (
  key text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  ticket bigint NOT NULL,
  alive_until bigint NOT NULL,
  claim_lease integer NOT NULL,
  callers integer NOT NULL,
  tokens integer NOT NULL,
  holders_limit integer NOT NULL,
  label text NOT NULL,
  permits integer NOT NULL,
  PRIMARY KEY (key, owner)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE IF NOT EXISTS ${s}.tombstones (
  owner text COLLATE "C" PRIMARY KEY,
  ends bigint NOT NULL
);

CREATE UNLOGGED TABLE IF NOT EXISTS ${s}.board (
  name text COLLATE "C" PRIMARY KEY,
  content text NOT NULL,
  ends bigint NOT NULL
);

CREATE SEQUENCE IF NOT EXISTS ${s}.tokens;
`;
}

/**
 * The building blocks of the requests. They run while the transaction has the advisory lock of the key, so that each
 * statement sees the commit of the previous transaction.
 *
 * @param s the schema, as written in SQL
 */
function buildingBlocks(s: string): string {
  const tokens = `${s}.lock_number('tokens of ${literal(s)}')`;
  const sequence = `'${literal(s)}.tokens'`;
  return `
-- The server's time in microseconds.
CREATE OR REPLACE FUNCTION ${s}.clock() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- The number of a key's advisory lock. Keys with the same number wait for each other, which does no harm.
CREATE OR REPLACE FUNCTION ${s}.lock_number(key text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended(key, 6074331)
$$;

-- Locks these keys until the transaction ends; always in the same order, to avoid deadlocks. Returns the time since which
-- they are locked.
CREATE OR REPLACE FUNCTION ${s}.lock_and_tell_time(keys text[]) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  numbers bigint[];
  number bigint;
BEGIN
  -- An earlier snapshot would not show what others did while this transaction waited for the key.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'locks need transactions that are "read committed", not "%"', current_setting('transaction_isolation')
      USING ERRCODE = 'feature_not_supported';
  END IF;
  IF cardinality(keys) = 1 THEN
    numbers := ARRAY[${s}.lock_number(keys[1])];
  ELSE
    numbers := ARRAY(SELECT DISTINCT ${s}.lock_number(one) FROM unnest(keys) AS one ORDER BY 1);
  END IF;
  FOREACH number IN ARRAY numbers LOOP
    -- Nearly always free, and as an expression it costs a tenth of a query.
    IF NOT pg_try_advisory_xact_lock(number) THEN
      PERFORM pg_advisory_xact_lock(number);
    END IF;
  END LOOP;
  RETURN ${s}.clock();
END
$$;

-- Reserves consecutive tokens and returns the first. They continue from the clock, so that they grow after data was lost, and
-- from the last token, so that they grow after the clock was set back. A sequence does not roll back, and is written to the
-- log before a transaction that has used it ends.
CREATE OR REPLACE FUNCTION ${s}.reserve_tokens(count integer, now bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
  is_unlocked boolean;
BEGIN
  -- Not held until the end of the transaction: all keys share it.
  IF NOT pg_try_advisory_lock(${tokens}) THEN
    PERFORM pg_advisory_lock(${tokens});
  END IF;
  last := setval(${sequence}, greatest(nextval(${sequence}), now) + count - 1);
  is_unlocked := pg_advisory_unlock(${tokens});
  RETURN last - count + 1;
EXCEPTION WHEN OTHERS OR query_canceled THEN
  -- The lock belongs to the session, which would keep it: no other session would ever get a token.
  PERFORM pg_advisory_unlock(${tokens});
  RAISE;
END
$$;

-- Notifies an owner's client. A channel's name has at most 63 bytes; the first 22 characters of a client's id are random.
CREATE OR REPLACE FUNCTION ${s}.tell(owner_told text, message text) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_notify('lock_' || left(split_part(owner_told, ':', 1), 22), message)
$$;

-- Whether other clients than the owner's wait for the key.
CREATE OR REPLACE FUNCTION ${s}.others_wait(k text, o text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k AND NOT starts_with(w.owner, split_part(o, ':', 1) || ':'))
$$;

-- Whether one more owner with that limit and so many permits may hold a key beside holders with \`held\` permits. Readers have
-- one each.
CREATE OR REPLACE FUNCTION ${s}.fits(held integer, wanted integer, permits integer)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT held = 0 OR wanted = 0 OR held + permits <= wanted
$$;

-- Deletes expired holds. One that is renewed meanwhile stays: the statement checks the row again. Returns how many permits the
-- others have, and their limit.
CREATE OR REPLACE FUNCTION ${s}.prune(k text, now bigint, OUT held integer, OUT held_limit integer) LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM ${s}.holds h WHERE h.key = k AND h.ends <= now;
  SELECT coalesce(sum(h.permits), 0), max(h.holders_limit) INTO held, held_limit FROM ${s}.holds h WHERE h.key = k;
END
$$;

-- Writes a hold and returns its first token. The caller has checked that there is room.
CREATE OR REPLACE FUNCTION ${s}.grant_hold(
  k text, o text, wanted integer, permits integer, lease bigint, now bigint, count integer, label text, is_pushed boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  token bigint := ${s}.reserve_tokens(count, now);
BEGIN
  INSERT INTO ${s}.holds VALUES (k, o, wanted, now + lease * 1000, token, now / 1000, is_pushed, label, permits);
  RETURN token;
END
$$;

-- Grants the key, whose holders have \`held\` permits, to waiters, in order, while there is room. A waiter that does not fit
-- keeps those behind it waiting; one that missed its heartbeats leaves the queue. Grants are pushed with a short claim lease. \`asking\` is the owner of this request: when its turn comes
-- the loop stops, since its grant is the reply. Returns whether it is its turn, or no waiter is left; and the new \`held\`.
CREATE OR REPLACE FUNCTION ${s}.hand_over(
  k text, now bigint, asking text, INOUT held integer, OUT is_turn boolean
) LANGUAGE plpgsql AS $$
DECLARE
  waiter ${s}.waiters;
  token bigint;
BEGIN
  is_turn := false;
  FOR waiter IN SELECT * FROM ${s}.waiters w WHERE w.key = k ORDER BY w.ticket LOOP
    IF waiter.alive_until < now THEN
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = waiter.owner;
    ELSIF NOT ${s}.fits(held, waiter.holders_limit, waiter.permits) THEN
      RETURN;
    ELSIF waiter.owner = asking THEN
      is_turn := true;
      RETURN;
    ELSE
      DELETE FROM ${s}.waiters w WHERE w.key = k AND w.owner = waiter.owner;
      token := ${s}.grant_hold(
        k, waiter.owner, waiter.holders_limit, waiter.permits, waiter.claim_lease, now, waiter.tokens, waiter.label, true);
      PERFORM ${s}.tell(waiter.owner, concat_ws(' ', 'granted', waiter.owner, token, now, waiter.claim_lease,
        waiter.tokens, ${s}.others_wait(k, waiter.owner)::integer));
      held := held + waiter.permits;
      IF waiter.holders_limit = 1 THEN
        RETURN;
      END IF;
    END IF;
  END LOOP;
  is_turn := true;
END
$$;

-- Serves waiters if the key has room for them.
CREATE OR REPLACE FUNCTION ${s}.serve(k text, now bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  left_over record;
BEGIN
  IF NOT EXISTS (SELECT FROM ${s}.waiters w WHERE w.key = k) THEN
    RETURN;
  END IF;
  left_over := ${s}.prune(k, now);
  IF left_over.held = 0 OR left_over.held_limit <> 1 THEN
    PERFORM ${s}.hand_over(k, now, NULL, left_over.held);
  END IF;
END
$$;
`;
}
