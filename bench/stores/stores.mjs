import * as etcd from './etcd.mjs';
import * as postgres from './postgres.mjs';
import * as zookeeper from './zookeeper.mjs';

/**
 * Stores other than Redis, by name. Each is a module with
 *
 * - `title`: of the store, for people;
 * - `candidates`: files in `candidates/`: the floor, ours, and the lock that users of the server have or write by hand;
 * - `goals`: how many times better ours has to be, see `rows-of-stores.mjs`;
 * - `costs`: titles of columns, and which count of `stats.counts()` each shows per hold;
 * - `openServer(programs)`: `{ url, stats, stop }`; `stats` as `harness/server-stats.mjs`, with counts of its own.
 */
export const STORES = { postgres, etcd, zookeeper };
