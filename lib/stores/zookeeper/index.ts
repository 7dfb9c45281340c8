import type { LockStore } from '../port/lock-store.js';
import { addressOf } from '../ordered/hosts.js';
import { openOrdered } from '../ordered/ordered-session.js';
import { resolveZooKeeperOptions, type ZooKeeperStoreOptions } from './zookeeper-options.js';
import { ZooKeeperDriver } from './zookeeper-driver.js';

export type { LockStore } from '../port/lock-store.js';
export type { ZooKeeperStoreOptions } from './zookeeper-options.js';

/**
 * A store that keeps locks in ZooKeeper (3.8 or newer), for
 * `DistributedLockModule.forRoot({ store: zookeeperStore({ … }) })`. It needs no other package, and connects when the
 * module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function zookeeperStore(options: ZooKeeperStoreOptions): LockStore {
  const resolved = resolveZooKeeperOptions(options);
  return {
    name: `ZooKeeper at ${resolved.hosts.map(addressOf).join(',')}`,
    place: `path ${JSON.stringify(resolved.paths.root)}`,
    open: (client) => openOrdered(client, (events) => new ZooKeeperDriver(resolved, events)),
  };
}
