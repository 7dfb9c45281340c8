// Module options that a test can send to another process, in which the store is created.

/**
 * @param {{ etcd?: object, postgres?: object, zookeeper?: object }} options module options; `etcd` and the others: options of
 *   that store
 * @param {string} [build] the URL of the built ES modules
 * @returns {Promise<object>}
 */
export async function moduleOptionsOf(
  { etcd, postgres, zookeeper, ...options },
  build = new URL('../../dist/esm/', import.meta.url).href,
) {
  const storeIn = (name) => import(new URL(`stores/${name}/index.js`, build).href);
  if (etcd !== undefined) {
    const { etcdStore } = await storeIn('etcd');
    return { ...options, store: etcdStore(etcd) };
  }
  if (postgres !== undefined) {
    const { postgresStore } = await storeIn('postgres');
    return { ...options, store: postgresStore(postgres) };
  }
  if (zookeeper !== undefined) {
    const { zookeeperStore } = await storeIn('zookeeper');
    return { ...options, store: zookeeperStore(zookeeper) };
  }
  return options;
}
