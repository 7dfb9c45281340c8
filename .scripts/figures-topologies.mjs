/**
 * `npm run figures:topologies`: the cost of locks on Sentinel, Cluster and a quorum, and the effect of a failover on them.
 * `-- --failovers 5` kills fewer primaries than 20 of each. Runs `test/figures` on private servers, prints tables and writes
 * `bench/results/topologies.json`.
 */
import { spawnSync } from 'node:child_process';
import { delimiter, dirname } from 'node:path';
import { short } from '../bench/report/numbers.mjs';
import { table } from '../bench/report/table.mjs';
import { runFigures, spread, sumOf } from './failover-figures.mjs';
import { ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';

const GROUPS = { sentinel: 'Sentinel, 1 + 2', cluster: 'Cluster, 3 + 3' };

function failoverTable(groups) {
  const lines = Object.entries(groups).flatMap(([id, { promoted, settings }]) =>
    settings.map((figures) => [
      GROUPS[id],
      String(figures.replicasMin),
      spread(promoted),
      spread(figures.firstGrant),
      spread(figures.grantOfEachKey),
      String(figures.grants),
      String(figures.heldAtKill),
      String(figures.lost + figures.expiredAtRelease),
      String(figures.doubledUnfenced),
      String(figures.doubledFenced),
      String(sumOf(figures.errors)),
    ]),
  );
  const head = [
    'servers',
    'replicas.min',
    'promoted, ms',
    'first grant, ms',
    'each key, ms',
    'grants',
    'held at a kill',
    'lost',
    'doubled',
    'doubled, refused by token',
    'errors',
  ];
  return table(head, lines);
}

function quorumTable(lines) {
  return table(
    ['servers missing', 'pairs', 'median ms', 'p99 ms', 'longest ms'],
    lines.map(({ missing, how, pair }) => [
      missing === 0 ? 'none' : `${missing} ${how}`,
      String(pair.count),
      short(pair.median),
      short(pair.p99),
      short(pair.longest),
    ]),
  );
}

function commandsTable(topologies, kind) {
  return table(
    ['', 'scripts', 'WAIT', 'all commands', 'at replicas', 'median ms', 'p99 ms'],
    topologies.map(({ name, [kind]: { commands, time } }) => [
      name,
      commands.scripts.toFixed(1),
      commands.wait.toFixed(1),
      commands.all.toFixed(1),
      commands.atReplicas.toFixed(1),
      short(time.median),
      short(time.p99),
    ]),
  );
}

function print({ failovers, failover, quorum, commands }) {
  console.log(`\nFailover: primary killed ${failovers} times under load (median – longest)\n`);
  console.log(failoverTable(failover));
  console.log('\nQuorum of 5: acquiring and releasing a free lock\n');
  console.log(quorumTable(quorum));
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
