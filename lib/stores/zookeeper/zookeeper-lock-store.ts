import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { nameOf } from './connection/server-socket.js';
import {
  resolveZooKeeperOptions,
  type ResolvedZooKeeperOptions,
  type ZooKeeperStoreOptions,
} from './zookeeper-options.js';
import { ZooKeeperSession } from './zookeeper-session.js';

/** Locks as nodes of ZooKeeper (3.5.3 or newer). */
export class ZooKeeperLockStore implements LockStore {
  readonly name: string;
  readonly place: string;

  constructor(private readonly options: ResolvedZooKeeperOptions) {
    this.name = `ZooKeeper at ${options.hosts.map(nameOf).join(',')}`;
    this.place = `path ${JSON.stringify(options.paths.root)}`;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new ZooKeeperSession(this.options, client);
  }
}

/**
 * A store of locks in ZooKeeper, for `DistributedLockModule.forRoot({ store: zookeeperStore({ … }) })`. It needs no other
 * package. Nothing is connected before the module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function zookeeperStore(options: ZooKeeperStoreOptions): LockStore {
  return new ZooKeeperLockStore(resolveZooKeeperOptions(options));
}
