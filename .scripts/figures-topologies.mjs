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

const COMMAND_COLUMNS = [
  ['', ({ name }) => name],
  ['scripts', ({ commands }) => commands.scripts.toFixed(1)],
  ['WAIT', ({ commands }) => commands.wait.toFixed(1)],
  ['all commands', ({ commands }) => commands.all.toFixed(1)],
  ['at replicas', ({ commands }) => commands.atReplicas.toFixed(1)],
  ['median ms', ({ time }) => short(time.median)],
  ['p99 ms', ({ time }) => short(time.p99)],
];

const commandsTable = (topologies, kind) =>
  tableOf(
    COMMAND_COLUMNS,
    topologies.map((topology) => ({ name: topology.name, ...topology[kind] })),
  );

function print({ failovers: count, failover, quorum, commands }) {
  console.log(`\nFailover: primary killed ${count} times under load (median – longest)\n`);
  const failovers = Object.entries(failover).flatMap(([id, { promoted, settings }]) =>
    settings.map((figures) => ({ id, promoted, ...figures })),
  );
  console.log(tableOf(FAILOVER_COLUMNS, failovers));
  console.log('\nQuorum of 5: acquiring and releasing a free lock\n');
  console.log(tableOf(QUORUM_COLUMNS, quorum));
  console.log('\nCommands for acquiring and releasing a free lock\n');
  console.log(commandsTable(commands, 'free'));
  console.log(
    '\nCommands per turn of two processes that alternate; time from release() to the next holder\n',
  );
  console.log(commandsTable(commands, 'handOver'));
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
    commands: part('commands'),
  }),
  print,
});
