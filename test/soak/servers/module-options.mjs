import { pathToFileURL } from 'node:url';

const OPTIONS = {
  redis: (redis) => ({ redis }),
  'one-address': (redis) => ({ redis }),
  sentinel: (options) => ({ redis: JSON.parse(options) }),
  cluster: (options) => ({ redis: JSON.parse(options) }),
  quorum: (urls) => ({ quorum: urls.split(',') }),
  postgres: async (connection, build) => {
    const { postgresStore } = await load(build, 'stores/postgres/index.js');
    return { store: postgresStore({ connection }) };
  },
  etcd: async (hosts, build) => {
    const { etcdStore } = await load(build, 'stores/etcd/index.js');
    return { store: etcdStore({ hosts: hosts.split(',') }) };
  },
  zookeeper: async (hosts, build) => {
    const { zookeeperStore } = await load(build, 'stores/zookeeper/index.js');
    return { store: zookeeperStore({ hosts }) };
  },
};

/**
 * Module options for locks in this server.
 *
 * @param {string} store one of `storeNames()`
 * @param {string} url
 * @param {string} build the entry of the build
 */
export function moduleOptions(store, url, build) {
  return OPTIONS[store](url, build);
}

/** Loads another module of the build. */
export function load(build, file) {
  return import(new URL(file, pathToFileURL(build)).href);
}
