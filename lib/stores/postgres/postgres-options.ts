import { LockOptionsError } from '../../model/lock.errors.js';
import { check, checkKeyPrefix, checkNames, checkObject } from '../../model/option-checks.js';
import {
  postgresConnector,
  type PostgresConnectionOptions,
  type PostgresConnector,
} from './postgres-connection.js';
import { checkSchemaName, DEFAULT_SCHEMA } from './schema.js';

/** Options of {@link postgresStore}. */
export interface PostgresStoreOptions {
  /**
   * How to reach the server: a URL (`postgres://` or `postgresql://`), or the options of pg's `Client`, including TLS
   * (`ssl`) and a `password` function. May go through a pooler such as PgBouncer; see `listen`.
   */
  readonly connection: PostgresConnectionOptions;
  /**
   * Where to listen for pushed grants (`LISTEN`): like `connection`, but for the server itself, since a pooler that
   * assigns connections per transaction loses messages. With `false` nothing is pushed: waiters poll once a second.
   *
   * @default the same as `connection`
   */
  readonly listen?: PostgresConnectionOptions | false | undefined;
  /**
   * The schema with the tables and functions of locks: 1 to 63 bytes. Applications that use the same locks must set the
   * same.
   *
   * @default 'distributed_lock'
   */
  readonly schema?: string | undefined;
  /**
   * Whether to create the schema, or bring it up to date, when the application starts, and again if a part of it is
   * dropped. The user then needs the right to create a schema in the database. Otherwise run the SQL that
   * `postgresMigration()` returns as one of your own migrations.
   *
   * @default false
   */
  readonly createSchema?: boolean | undefined;
  /**
   * The prefix of the locks' names: at most 256 bytes of UTF-8. Applications that use the same locks must set the same.
   *
   * @default ''
   */
  readonly keyPrefix?: string | undefined;
}

export interface ResolvedPostgresOptions {
  readonly connector: PostgresConnector;
  /** Undefined if nothing is pushed. */
  readonly listener: PostgresConnector | undefined;
  readonly schema: string;
  readonly createsSchema: boolean;
  readonly keyPrefix: string;
}

const WHERE = 'postgresStore';
const KNOWN = new Set(['connection', 'listen', 'schema', 'createSchema', 'keyPrefix']);

/** Checks the options and applies the defaults. */
export function resolvePostgresOptions(options: PostgresStoreOptions): ResolvedPostgresOptions {
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  const { connection, listen, schema = DEFAULT_SCHEMA, createSchema = false, keyPrefix = '' } = options;
  if ((connection as unknown) === undefined) {
    throw new LockOptionsError(
      `${WHERE}: connection is undefined. If it comes from an environment variable, that one is not set: set it, or write ` +
        "a value, such as postgresStore({ connection: 'postgres://user:password@localhost:5432/shop' }).",
    );
  }
  checkSchemaName(WHERE, schema);
  check(typeof createSchema === 'boolean', WHERE, 'createSchema must be true or false', createSchema);
  checkKeyPrefix(WHERE, keyPrefix);
  const connector = postgresConnector(`${WHERE}: connection`, connection);
  return {
    connector,
    listener:
      listen === false
        ? undefined
        : listen === undefined
          ? connector
          : postgresConnector(`${WHERE}: listen`, listen),
    schema,
    createsSchema: createSchema,
    keyPrefix,
  };
}
