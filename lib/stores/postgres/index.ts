export { postgresStore } from './postgres-lock-store.js';
export type { PostgresStoreOptions } from './postgres-options.js';
export type { PostgresConnectionOptions } from './connection/postgres-connector.js';
export type { PgClientOptions } from './connection/pg-client.js';
export { postgresMigration, type PostgresMigrationOptions } from './schema/migration.js';
