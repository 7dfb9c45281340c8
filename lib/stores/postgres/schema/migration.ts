import { LockOptionsError } from '../../../model/lock.errors.js';
import { checkNames, checkObject, shown } from '../../../model/option-checks.js';
import { asking } from './asking.js';
import { buildingBlocks } from './building-blocks.js';
import { requests } from './requests.js';
import { tables } from './tables.js';

/**
 * Grows with every change of the schema. Version 2 names channels otherwise. It serves processes that were made for version 1,
 * and version 1 serves newer processes; only their waiters then hear of no grant, and ask once a second.
 */
export const SCHEMA_VERSION = 2;

export const DEFAULT_SCHEMA = 'distributed_lock';

/** PostgreSQL cuts longer names off without a word. */
const LONGEST_NAME = 63;

/** Options of {@link postgresMigration}. */
export interface PostgresMigrationOptions {
  /**
   * The schema that is to hold the tables and functions; 1 to 63 bytes. The same as in `postgresStore`.
   *
   * @default 'distributed_lock'
   */
  readonly schema?: string | undefined;
}

/**
 * The SQL that creates what `postgresStore` needs, in a schema of its own, or brings it up to date: run it with the rights
 * to create a schema, as a migration of your application. It may be run again at any time, also while locks are in use.
 *
 * @throws LockOptionsError for a schema without a usable name
 */
export function postgresMigration(options: PostgresMigrationOptions = {}): string {
  const where = 'postgresMigration';
  checkNames(where, checkObject(where, options), new Set(['schema']));
  const { schema = DEFAULT_SCHEMA } = options;
  checkSchemaName(where, schema);
  return migrationOf(quoted(schema));
}

/** @param s the schema, as SQL writes it */
function migrationOf(s: string): string {
  const version = `
CREATE OR REPLACE FUNCTION ${s}.version() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT ${String(SCHEMA_VERSION)} $$;
`;
  // One transaction, and one at a time: several processes of an application may start together.
  return `BEGIN;
SELECT pg_advisory_xact_lock(6074331, 1);
CREATE SCHEMA IF NOT EXISTS ${s};
${tables(s)}${buildingBlocks(s)}${asking(s)}${requests(s)}${version}
COMMIT;
`;
}

/** @throws LockOptionsError unless PostgreSQL takes it as it is */
export function checkSchemaName(where: string, schema: unknown): asserts schema is string {
  if (typeof schema === 'string' && schema !== '' && !/[\0$]/.test(schema) && !schema.startsWith('pg_')) {
    if (Buffer.byteLength(schema) <= LONGEST_NAME) return;
  }
  throw new LockOptionsError(
    `${where}: schema must be the name of a schema of 1 to ${String(LONGEST_NAME)} bytes, without "$" and not beginning with ` +
      `pg_, such as 'distributed_lock'; got ${shown(schema)}.`,
  );
}

/** A name as SQL writes it. */
export function quoted(name: string): string {
  return `"${name.replace(/"/g, '""')}"`;
}
