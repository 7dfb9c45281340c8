import { describe } from '@jest/globals';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { exitRules } from './rules/exit.rules.js';
import { EtcdScene } from './scenes/etcd-scene.js';

whereThereIsEtcd('the end of a process with etcd', () => {
  describe('the end of a process with etcd', () => {
    exitRules(new EtcdScene());
  });
});
