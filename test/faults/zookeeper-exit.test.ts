import { describe } from '@jest/globals';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { exitRules } from './rules/exit.rules.js';
import { ZooKeeperScene } from './scenes/zookeeper-scene.js';

whereThereIsZooKeeper('the end of a process with ZooKeeper', () => {
  describe('the end of a process with ZooKeeper', () => {
    exitRules(new ZooKeeperScene());
  });
});
