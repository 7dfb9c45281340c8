import { zookeeperStore } from '../../dist/esm/stores/zookeeper/index.js';
import { openApplication, version } from './ours.mjs';

/** The library with its locks in ZooKeeper, as an application uses it. */
export const name = 'nestjs-distributed-lock';
export const kind = 'ours';
/** The module has its defaults in all of them: what differs is what is called. */
export const settings = { withLock: {}, fair: { fair: true } };
export const labels = { fair: `${name}, fair` };

export async function open(url, options) {
  const { app, locks } = await openApplication({ store: zookeeperStore({ hosts: url }) });
  return {
    version,
    withLock: (key, fn) => locks.withLock(key, options, fn),
    close: () => app.close(),
  };
}
