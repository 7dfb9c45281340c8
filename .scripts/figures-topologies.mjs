/**
 * `npm run figures:topologies`: what locks cost on Sentinel, Cluster and a quorum, and what a failover does to them.
 * `-- --failovers 5` kills fewer primaries than 20 of each. Measured by `test/figures`, on servers and processes of its
 * own; prints tables and writes `bench/results/topologies.json`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem, type } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { short } from '../bench/report/numbers.mjs';
import { table } from '../bench/report/table.mjs';
import { SetupError, ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'bench/results/topologies.json');

const GROUPS = { sentinel: 'Sentinel, 1 + 2', cluster: 'Cluster, 3 + 3' };

function failoversWanted() {
  const { values } = parseArgs({ options: { failovers: { type: 'string', default: '20' } } });
  const failovers = Number(values.failovers);
  if (Number.isInteger(failovers) && failovers >= 1 && failovers <= 1_000) return failovers;
  throw new SetupError(`--failovers must be a whole number from 1 to 1000; got ${values.failovers}.`);
}

/** What a reader has to know about the machine; nothing that names it. */
function describeMachine(redis) {
  const require = createRequire(import.meta.url);
  const version = spawnSync(redis, ['--version'], { encoding: 'utf8' }).stdout;
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    system: type(),
    // Of the last five minutes, before the first server was started.
    load: Number(loadavg()[1].toFixed(2)),
    node: process.versions.node,
    redis: /v=(\S+)/.exec(version)?.[1],
    ioredis: require('ioredis/package.json').version,
  };
}

/** Jest runs the measurements because the servers and their helpers are those of the tests. */
function measure(folder, redis, failovers) {
  const runner = join(root, '.scripts/test.mjs');
  const only = ['--testMatch', '<rootDir>/test/figures/*.figures.ts', '--runInBand'];
  const { status } = spawnSync(process.execPath, [runner, '--no-setup', ...only], {
    cwd: root,
    // stdout is for the tables.
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      PATH: [dirname(redis), process.env['PATH']].join(delimiter),
      FIGURES_FOLDER: folder,
      FIGURES_FAILOVERS: String(failovers),
    },
  });
  if (status !== 0) throw new SetupError('The measurement failed; its messages are above.');
  const part = (name) => JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
  return {
    failover: { sentinel: part('failover.sentinel'), cluster: part('failover.cluster') },
    quorum: part('quorum'),
    commands: part('commands'),
  };
}

const spread = ({ median, longest }) => `${short(median)} – ${short(longest)}`;

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
      String(Object.values(figures.errors).reduce((sum, count) => sum + count, 0)),
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
  console.log('\nQuorum of 5: a free lock, taken and given back\n');
  console.log(quorumTable(quorum));
  console.log('\nCommands for a free lock, taken and given back\n');
  console.log(commandsTable(commands, 'free'));
  console.log(
    '\nCommands for a turn where two processes take turns; time from release() to the next holder\n',
  );
  console.log(commandsTable(commands, 'handOver'));
}

try {
  const failovers = failoversWanted();
  ensureDependencies();
  const { path } = ensureRedisServer();
  ensureTestTools();
  ensureBuild();
  const folder = mkdtempSync(join(tmpdir(), 'lock-figures-'));
  try {
    const date = new Date().toISOString().slice(0, 10);
    const machine = describeMachine(path);
    const figures = { date, machine, failovers, ...measure(folder, path, failovers) };
    print(figures);
    writeFileSync(results, `${JSON.stringify(figures, undefined, 2)}\n`);
    console.log(`\nwritten to ${results}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
