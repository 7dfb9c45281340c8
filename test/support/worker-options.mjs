// Options of a module as a test can send them to another process: a store that is an entry of its own is made there.

/**
 * @param {{ etcd?: object, postgres?: object, zookeeper?: object }} options those of the module; `etcd` and the others: what
 *   makes its `store`
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
