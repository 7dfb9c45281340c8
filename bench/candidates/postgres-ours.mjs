import { postgresStore } from '../../dist/esm/postgres.js';
import { openWith } from './ours.mjs';

/** This library with locks in PostgreSQL. */
export { kind, labels, name, settings } from './ours.mjs';
export const open = openWith((connection) => ({ store: postgresStore({ connection }) }));
