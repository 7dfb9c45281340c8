import { describe, it } from '@jest/globals';
import { etcdProgram } from './etcd-server.js';
import { postgresPrograms } from './postgres-server.js';
import { zooKeeperLibraries } from './zookeeper-server.js';

/** The path of a Chromium; `npm run test:stores` sets it. */
export const chromiumProgram = process.env['CHROMIUM'];

export const whereThereIsChromium = whereThereIs('Chromium', chromiumProgram);
export const whereThereIsEtcd = whereThereIs('etcd', etcdProgram);
export const whereThereIsPostgres = whereThereIs('PostgreSQL', postgresPrograms);
export const whereThereIsZooKeeper = whereThereIs('ZooKeeper and Java', zooKeeperLibraries);

/** Tests that need an optional program; without it they are skipped, and the report says how to run them. */
export function whereThereIs(name: string, program: string | undefined, command = 'npm run test:stores') {
  return (what: string, tests: () => void): void => {
    if (program !== undefined) {
      tests();
      return;
    }
    describe(what, () => {
      it.skip(`needs ${name}: run it with ${command}`, () => undefined);
    });
  };
}
