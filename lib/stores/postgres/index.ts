export type { LockStore } from '../port/lock-store.js';
export { postgresStore } from './postgres-lock-store.js';
export type { PostgresStoreOptions } from './postgres-options.js';
export type { PgClientOptions, PostgresConnectionOptions } from './postgres-connection.js';
export { postgresMigration, type PostgresMigrationOptions } from './schema.js';
