export { zookeeperStore } from './zookeeper-lock-store.js';
export type { ZooKeeperStoreOptions } from './zookeeper-options.js';
