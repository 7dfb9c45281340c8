import type { LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { resolveEtcdOptions, type EtcdStoreOptions, type ResolvedEtcdOptions } from './etcd-options.js';
import { EtcdSession } from './etcd-session.js';

/** Locks as keys of an etcd cluster (3.4 or newer). */
export class EtcdLockStore implements LockStore {
  readonly name: string;
  readonly place: string;

  constructor(private readonly options: ResolvedEtcdOptions) {
    this.name = `etcd at ${options.connection.addresses.join(', ')}`;
    this.place = `prefix ${JSON.stringify(options.keyPrefix)}`;
  }

  open(client: LockStoreClient): LockStoreSession {
    return new EtcdSession(this.options, client);
  }
}

/**
 * A store of locks in an etcd cluster, for `DistributedLockModule.forRoot({ store: etcdStore({ … }) })`. Nothing is
 * connected before the module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function etcdStore(options: EtcdStoreOptions): LockStore {
  return new EtcdLockStore(resolveEtcdOptions(options));
}
