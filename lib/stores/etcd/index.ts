import type { LockStore } from '../port/lock-store.js';
import { grpc } from './connection/endpoint.js';
import { resolveEtcdOptions, type EtcdStoreOptions } from './connection/etcd-options.js';
import { EtcdDriver } from './etcd-driver.js';
import { openOrdered } from '../ordered/ordered-session.js';

export type { LockStore } from '../port/lock-store.js';
export type { EtcdStoreOptions, EtcdTlsOptions } from './connection/etcd-options.js';

/**
 * Creates a store that keeps locks in an etcd cluster (3.4 or newer), for
 * `DistributedLockModule.forRoot({ store: etcdStore({ … }) })`. It connects when the module starts.
 *
 * @throws LockOptionsError for invalid options, and if `@grpc/grpc-js` is not installed
 */
export function etcdStore(options: EtcdStoreOptions): LockStore {
  grpc();
  const resolved = resolveEtcdOptions(options);
  return {
    name: `etcd at ${resolved.connection.addresses.join(', ')}`,
    place: `prefix ${JSON.stringify(resolved.keyPrefix)}`,
    open: (client) => openOrdered(client, (events) => new EtcdDriver(resolved, events)),
  };
}
