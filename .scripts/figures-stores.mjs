/**
 * `npm run figures:stores`: the effect of a failover on locks in etcd and ZooKeeper (kills the leader of three members) and in
 * PostgreSQL (kills a primary with a synchronous standby). `-- --failovers 5` measures fewer than 10 of each. Runs
 * `test/figures/stores` on private servers, prints a table and writes `bench/results/stores-failover.json`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { tableOf } from '../bench/report/table.mjs';
import { FIRST_COLUMNS, LAST_COLUMN, runFigures } from './failover-figures.mjs';
import { ensureEtcd } from './setup-etcd.mjs';
import { ensurePostgres } from './setup-postgres.mjs';
import { ensureZooKeeper } from './setup-zookeeper.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

const STORES = {
  etcd: 'etcd, 3 members',
  postgres: 'PostgreSQL, synchronous standby',
  zookeeper: 'ZooKeeper, 3 members',
};

const COLUMNS = [
  ['store', ({ id }) => STORES[id]],
  ...FIRST_COLUMNS,
  ['doubled', ({ doubledUnfenced, doubledFenced }) => `${doubledUnfenced + doubledFenced}`],
  LAST_COLUMN,
];

const versionOf = (program) => spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout;

runFigures({
  failovers: 10,
  tests: 'test/figures/stores',
  file: 'stores-failover.json',
  prepare() {
    ensureDependencies();
    ensureBuild();
    const etcd = ensureEtcd();
    const { programs, libraries } = ensurePostgres();
    const zookeeper = ensureZooKeeper({ required: true });
    const servers = readdirSync(zookeeper.libraries).join();
    return {
      env: {
        ETCD_SERVER: etcd,
        POSTGRES_PROGRAMS: programs,
        ...(libraries && { POSTGRES_LIBRARIES: libraries }),
        ZOOKEEPER_LIBRARIES: zookeeper.libraries,
      },
      versions: {
        etcd: /etcd Version: (\S+)/.exec(versionOf(etcd))?.[1],
        postgres: /\) (\S+)/.exec(versionOf(join(programs, 'postgres')))?.[1],
        zookeeper: /zookeeper-(\d[\d.]*\d)\.jar/.exec(servers)?.[1],
      },
    };
  },
  read: (part) => ({
    stores: Object.fromEntries(Object.keys(STORES).map((id) => [id, part(`failover.${id}`)])),
  }),
  print({ failovers, stores }) {
    console.log(`\nFailover: killed ${failovers} times under load (median – longest)\n`);
    const lines = Object.entries(stores).map(([id, figures]) => ({ id, ...figures }));
    console.log(tableOf(COLUMNS, lines));
  },
});
