import { zookeeperStore } from '../../../lib/stores/zookeeper/index.js';
import { NodesOfLocks } from '../../support/nodes-of-locks.js';
import { whereThereIsZooKeeper } from '../../support/where-there-is.js';
import { ZooKeeperServer } from '../../support/zookeeper-server.js';
import { unknownFormatRules } from './unknown-format.rules.js';

whereThereIsZooKeeper('ZooKeeper: the format of its locks', () => {
  unknownFormatRules('ZooKeeper', async () => {
    const server = await ZooKeeperServer.start();
    const nodes = await NodesOfLocks.open(server.port);
    await nodes.create('/distributed-locks');
    await nodes.create('/distributed-locks/format', undefined, '2 3.0.0');
    return {
      module: { store: zookeeperStore({ hosts: server.address }) },
      names: () => nodes.entries(),
      close: async () => {
        await nodes.close();
        await server.close();
      },
    };
  });
});
