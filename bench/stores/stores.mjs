import * as etcd from './etcd.mjs';
import * as postgres from './postgres.mjs';
import * as zookeeper from './zookeeper.mjs';

/**
 * Stores other than Redis, by name. Each is a module with
 *
 * - `title`: the name of the store in the output;
 * - `candidates`: files in `candidates/`: the floor, this library, and the lock that users of the server have or write by hand;
 * - `goals`: how many times better this library must be, see `rows-of-stores.mjs`;
 * - `costs`: columns, as pairs of a title and the counter of `stats.counts()` to show per hold;
 * - `openServer(programs)`: `{ url, stats, stop }`; `stats` is like `harness/server-stats.mjs`, with the store's counters.
 */
export const STORES = { postgres, etcd, zookeeper };
