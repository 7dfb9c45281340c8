import { zookeeperStore } from '../../dist/esm/zookeeper.js';
import { openWith } from './ours.mjs';

/** This library with locks in ZooKeeper. */
export { kind, labels, name, settings } from './ours.mjs';
export const open = openWith((hosts) => ({ store: zookeeperStore({ hosts }) }));
