import { etcdStore } from '../../dist/esm/etcd.js';
import { openWith } from './ours.mjs';

/** This library with locks in etcd. */
export { kind, labels, name, settings } from './ours.mjs';
export const open = openWith((hosts) => ({ store: etcdStore({ hosts }) }));
