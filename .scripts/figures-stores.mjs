/**
 * `npm run figures:stores`: what a failover does to locks in etcd (a leader of three members is killed) and in PostgreSQL (a
 * primary with a synchronous standby). `-- --failovers 5` kills fewer than 10 of each. Measured by `test/figures/stores`,
 * on servers and processes of its own; prints a table and writes `bench/results/stores-failover.json`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { short } from '../bench/report/numbers.mjs';
import { table } from '../bench/report/table.mjs';
import { ensureEtcd } from './setup-etcd.mjs';
import { ensurePostgres } from './setup-postgres.mjs';
import { SetupError, ensureBuild, ensureDependencies } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'bench/results/stores-failover.json');

const STORES = { etcd: 'etcd, 3 members', postgres: 'PostgreSQL, synchronous standby' };

function failoversWanted() {
  const { values } = parseArgs({ options: { failovers: { type: 'string', default: '10' } } });
  const failovers = Number(values.failovers);
  if (Number.isInteger(failovers) && failovers >= 1 && failovers <= 1_000) return failovers;
  throw new SetupError(`--failovers must be a whole number from 1 to 1000; got ${values.failovers}.`);
}

/** What a reader has to know about the machine; nothing that names it. */
function describeMachine(etcd, postgres) {
  const version = (program) => spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout;
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 1_024 ** 3),
    system: type(),
    // Of the last five minutes, before the first server was started.
    load: Number(loadavg()[1].toFixed(2)),
    node: process.versions.node,
    etcd: /etcd Version: (\S+)/.exec(version(etcd))?.[1],
    postgres: /\) (\S+)/.exec(version(join(postgres.programs, 'postgres')))?.[1],
  };
}

/** Jest runs the measurements because the servers and their helpers are those of the tests. */
function measure(folder, etcd, { programs, libraries }, failovers) {
  const runner = join(root, '.scripts/test.mjs');
  const only = ['--testMatch', '<rootDir>/test/figures/stores/*.figures.ts', '--runInBand'];
  const { status } = spawnSync(process.execPath, [runner, '--no-setup', ...only], {
    cwd: root,
    // stdout is for the table.
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      ETCD_SERVER: etcd,
      POSTGRES_PROGRAMS: programs,
      ...(libraries && { POSTGRES_LIBRARIES: libraries }),
      FIGURES_FOLDER: folder,
      FIGURES_FAILOVERS: String(failovers),
    },
  });
  if (status !== 0) throw new SetupError('The measurement failed; its messages are above.');
  const part = (id) => [id, JSON.parse(readFileSync(join(folder, `failover.${id}.json`), 'utf8'))];
  return Object.fromEntries(Object.keys(STORES).map(part));
}

const spread = ({ median, longest }) => `${short(median)} – ${short(longest)}`;

function failoverTable(stores) {
  const lines = Object.entries(stores).map(([id, figures]) => [
    STORES[id],
    spread(figures.firstGrant),
    spread(figures.grantOfEachKey),
    String(figures.grants),
    String(figures.heldAtKill),
    String(figures.lost + figures.expiredAtRelease),
    String(figures.unknownAtRelease),
    String(figures.doubledUnfenced + figures.doubledFenced),
    String(Object.values(figures.errors).reduce((sum, count) => sum + count, 0)),
  ]);
  const head = [
    'store',
    'first grant, ms',
    'each key, ms',
    'grants',
    'held at a kill',
    'lost',
    'unknown',
    'doubled',
    'errors',
  ];
  return table(head, lines);
}

try {
  const failovers = failoversWanted();
  ensureDependencies();
  ensureBuild();
  const [etcd, postgres] = [ensureEtcd(), ensurePostgres()];
  const folder = mkdtempSync(join(tmpdir(), 'lock-figures-'));
  try {
    const date = new Date().toISOString().slice(0, 10);
    const machine = describeMachine(etcd, postgres);
    const stores = measure(folder, etcd, postgres, failovers);
    console.log(`\nFailover: killed ${failovers} times under load (median – longest)\n`);
    console.log(failoverTable(stores));
    writeFileSync(results, `${JSON.stringify({ date, machine, failovers, stores }, undefined, 2)}\n`);
    console.log(`\nwritten to ${results}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
