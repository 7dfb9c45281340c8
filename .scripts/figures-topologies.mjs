/**
 * `npm run figures:topologies`: the cost of locks on Sentinel, Cluster and a quorum, and the effect of a failover on them.
 * `-- --failovers 5` kills fewer primaries than 20 of each. Runs `test/figures` on private servers, prints tables and writes
 * `bench/results/topologies.json`.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { short } from '../bench/report/numbers.mjs';
import { tableOf } from '../bench/report/table.mjs';
import { FIRST_COLUMNS, LAST_COLUMN, runFigures, spread } from './failover-figures.mjs';
import { ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';

const GROUPS = { sentinel: 'Sentinel, 1 + 2', cluster: 'Cluster, 3 + 3' };

const FAILOVER_COLUMNS = [
  ['servers', ({ id }) => GROUPS[id]],
  ['replicas.min', ({ replicasMin }) => `${replicasMin}`],
  ['promoted, ms', ({ promoted }) => spread(promoted)],
  ...FIRST_COLUMNS,
  ['doubled', ({ doubledUnfenced }) => `${doubledUnfenced}`],
  ['doubled, refused by token', ({ doubledFenced }) => `${doubledFenced}`],
  LAST_COLUMN,
];

const QUORUM_COLUMNS = [
  ['servers missing', ({ missing, how }) => (missing === 0 ? 'none' : `${missing} ${how}`)],
  ['pairs', ({ pair }) => `${pair.count}`],
  ['median ms', ({ pair }) => short(pair.median)],
  ['p99 ms', ({ pair }) => short(pair.p99)],
  ['longest ms', ({ pair }) => short(pair.longest)],
];

const LOCK_COLUMNS = [
  ['', ({ name }) => name],
  ['free, median ms', ({ free }) => short(free.median)],
  ['free, p99 ms', ({ free }) => short(free.p99)],
  ['turn, median ms', ({ handOver }) => short(handOver.median)],
  ['turn, p99 ms', ({ handOver }) => short(handOver.p99)],
];

function print({ failovers: count, failover, quorum, oneLock }) {
  console.log(`\nFailover: primary killed ${count} times under load (median – longest)\n`);
  const failovers = Object.entries(failover).flatMap(([id, { promoted, settings }]) =>
    settings.map((figures) => ({ id, promoted, ...figures })),
  );
  console.log(tableOf(FAILOVER_COLUMNS, failovers));
  console.log('\nQuorum of 5: acquiring and releasing a free lock\n');
  console.log(tableOf(QUORUM_COLUMNS, quorum));
  console.log('\nOne lock: free, and passed on between two processes\n');
  console.log(tableOf(LOCK_COLUMNS, oneLock));
}

runFigures({
  failovers: 20,
  tests: 'test/figures',
  file: 'topologies.json',
  prepare() {
    ensureDependencies();
    const { path } = ensureRedisServer();
    ensureTestTools();
    ensureBuild();
    const version = spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout;
    return {
      env: { PATH: [dirname(path), process.env['PATH']].join(delimiter) },
      versions: { redis: /v=(\S+)/.exec(version)?.[1] },
    };
  },
  read: (part) => ({
    failover: { sentinel: part('failover.sentinel'), cluster: part('failover.cluster') },
    quorum: part('quorum'),
    oneLock: part('one-lock'),
  }),
  print,
});
