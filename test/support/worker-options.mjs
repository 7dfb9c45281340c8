// Module options that a test can send to another process, in which the store is created.
import { fileURLToPath } from 'node:url';
import { entryOf } from '../../.scripts/entries.mjs';

/**
 * @param {{ etcd?: object, postgres?: object, redisson?: object, zookeeper?: object }} options module options; `etcd` and the others: options of
 *   that store
 * @param {string} [folder] of the built package
 * @returns {Promise<object>}
 */
export async function moduleOptionsOf(
  { etcd, postgres, redisson, zookeeper, ...options },
  folder = fileURLToPath(new URL('../../', import.meta.url)),
) {
  const storeIn = (name) => import(entryOf(folder, `./${name}`));
  if (etcd !== undefined) {
    const { etcdStore } = await storeIn('etcd');
    return { ...options, store: etcdStore(etcd) };
  }
  if (postgres !== undefined) {
    const { postgresStore } = await storeIn('postgres');
    return { ...options, store: postgresStore(postgres) };
  }
  if (redisson !== undefined) {
    const { redissonStore } = await storeIn('redisson');
    return { ...options, store: redissonStore(redisson) };
  }
  if (zookeeper !== undefined) {
    const { zookeeperStore } = await storeIn('zookeeper');
    return { ...options, store: zookeeperStore(zookeeper) };
  }
  return options;
}
