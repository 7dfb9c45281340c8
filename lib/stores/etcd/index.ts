export { etcdStore } from './etcd-lock-store.js';
export type { EtcdStoreOptions } from './etcd-options.js';
export type { EtcdTlsOptions } from './tls-options.js';
