import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import {
  resolvePostgresOptions,
  type PostgresStoreOptions,
  type ResolvedPostgresOptions,
} from './postgres-options.js';
import { PostgresSession } from './postgres-session.js';

/** Locks as rows of a PostgreSQL database (12 or newer). */
export class PostgresLockStore implements LockStore {
  readonly name: string;
  readonly place: string;

  constructor(private readonly options: ResolvedPostgresOptions) {
    this.name = `PostgreSQL at ${options.connector.address}`;
    const { schema, keyPrefix } = options;
    const prefix = keyPrefix === '' ? '' : `, prefix ${JSON.stringify(keyPrefix)}`;
    this.place = `schema ${JSON.stringify(schema)}${prefix}`;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new PostgresSession(this.options, client);
  }
}

/**
 * A store of locks in a PostgreSQL database, for `DistributedLockModule.forRoot({ store: postgresStore({ … }) })`. Nothing
 * is connected before the module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function postgresStore(options: PostgresStoreOptions): LockStore {
  return new PostgresLockStore(resolvePostgresOptions(options));
}
