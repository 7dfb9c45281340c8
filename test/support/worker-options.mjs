// Module options that a test can send to another process, in which the store is created.

/**
 * @param {{ etcd?: object, postgres?: object, zookeeper?: object }} options module options; `etcd` and the others: options of
 *   that store
 * @returns {Promise<object>}
 */
export async function moduleOptionsOf({ etcd, postgres, zookeeper, ...options }) {
  if (etcd !== undefined) {
    const { etcdStore } = await import('../../dist/esm/stores/etcd/index.js');
    return { ...options, store: etcdStore(etcd) };
  }
  if (postgres !== undefined) {
    const { postgresStore } = await import('../../dist/esm/stores/postgres/index.js');
    return { ...options, store: postgresStore(postgres) };
  }
  if (zookeeper !== undefined) {
    const { zookeeperStore } = await import('../../dist/esm/stores/zookeeper/index.js');
    return { ...options, store: zookeeperStore(zookeeper) };
  }
  return options;
}
