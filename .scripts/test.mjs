/**
 * Prepares a fresh clone (dependencies, servers, build), and runs Jest with the given arguments.
 *
 * `npm test` runs the part `core` of the tests, `npm run test:all` all other parts, and `npm run test:redis`, `test:stores` and
 * so on one of them: see test-parts.mjs. A test file among the arguments replaces the part. `--no-setup` (`npm run test:only`)
 * skips the set-up, and without a part runs every test that the arguments select.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateLua } from './generate-lua.mjs';
import { generatePage } from './generate-page.mjs';
import { ensureChromium } from './setup-chromium.mjs';
import { ensureEtcd } from './setup-etcd.mjs';
import { ensureRedissonClients, ensureZooKeeper } from './setup-java.mjs';
import { buildPorcupine } from './setup-porcupine.mjs';
import { ensurePostgres, findOrFetchPooler } from './setup-postgres.mjs';
import {
  SetupError,
  ensureBuild,
  ensureDependencies,
  ensureRedisServer,
  ensureTestTools,
  findOrInstall,
  toStderr,
} from './setup.mjs';
import { PARTS, selection } from './test-parts.mjs';
import { CACHE, unpackInto } from './unpacked-programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Some tests start processes that use the built package. */
function prepareCore() {
  ensureDependencies();
  const redis = ensureRedisServer();
  ensureBuild();
  return { REDIS_SERVER: redis.path };
}

function prepareRedis() {
  const env = prepareCore();
  ensureTestTools();
  return env;
}

function environmentOfPostgres() {
  const { programs, libraries } = ensurePostgres();
  return { POSTGRES_PROGRAMS: programs, ...(libraries && { POSTGRES_LIBRARIES: libraries }) };
}

function prepareStores() {
  const env = prepareCore();
  const chromium = ensureChromium();
  const postgres = environmentOfPostgres();
  const pooler = findOrFetchPooler();
  const zookeeper = ensureZooKeeper();
  const redisson = ensureRedissonClients();
  // Checks the alert rules and the queries of the Grafana dashboard. The test that uses it is skipped without it.
  const promtool = findOrInstall(['promtool'], {
    variable: 'PROMTOOL',
    folders: [join(CACHE, 'prometheus/usr/bin')],
    install: () => unpackInto(join(CACHE, 'prometheus'), ['prometheus'], toStderr),
  });
  // Without Go, the tests of the soak's second judge are skipped.
  const porcupine = buildPorcupine();
  return {
    ...env,
    ...(porcupine && { PORCUPINE: porcupine }),
    ...(promtool && { PROMTOOL: promtool }),
    ...postgres,
    ...(pooler && { PGBOUNCER: pooler.program }),
    ...(pooler?.libraries && { PGBOUNCER_LIBRARIES: pooler.libraries }),
    ETCD_SERVER: ensureEtcd(),
    ...(zookeeper && { ZOOKEEPER_LIBRARIES: zookeeper.libraries }),
    ...(redisson && { REDISSON_CLASS_PATHS: redisson }),
    // Also if undefined: overrides a value of the variable that names no program.
    CHROMIUM: chromium,
  };
}

const PREPARE = {
  core: prepareCore,
  redis: prepareRedis,
  stores: prepareStores,
  package: prepareCore,
  examples: () => ({ ...prepareCore(), ...environmentOfPostgres() }),
  site: prepareCore,
};

/** Tests allocate many short-lived objects. A larger young generation reduces the time for garbage collection. */
const YOUNG_SPACE = '--max-semi-space-size=32';

/** Runs a program, and notes the processor time of all its processes: no API of Node tells that. */
const TIMED = '"$@" 4>&-; status=$?; times >&4; exit $status';

/** @returns {string} the seconds of processor time in what the shell's `times` prints: of the shell, and of its children */
function processorTime(times) {
  const all = [...times.matchAll(/(\d+)m([\d.]+)s/g)].map(([, minutes, seconds]) => minutes * 60 + +seconds);
  return all.reduce((sum, seconds) => sum + seconds, 0).toFixed(0);
}

function runJest(args, env, isWholeCore = false) {
  // Jest needs the first flag for ES modules. Its workers inherit the flags.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', YOUNG_SPACE];
  const jest = [process.execPath, ...flags, join(root, 'node_modules/jest/bin/jest.js'), ...args];
  const started = performance.now();
  const { status, output } = spawnSync('sh', ['-c', TIMED, 'sh', ...jest], {
    cwd: root,
    stdio: ['inherit', 'inherit', 'inherit', 'pipe', 'pipe'],
    env: { ...process.env, ...env, TEST_TOTALS_FD: '3' },
    encoding: 'utf8',
  });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(`${seconds} s, with ${processorTime(output?.[4] ?? '')} s of processor time`);
  if (isWholeCore) console.log('npm run test:all runs the tests of everything else.');
  // Last, so that the result is the last line of the log.
  const totals = output?.[3];
  if (totals) console.log(totals);
  return status ?? 1;
}

async function run(args) {
  const hasSetup = !args.includes('--no-setup');
  const part =
    Object.keys(PARTS).find((name) => args.includes(`--${name}`)) ?? (hasSetup ? 'core' : undefined);
  const env = hasSetup ? PREPARE[part]() : {};
  // Also without set-up: tests must never use outdated generated modules.
  generateLua();
  await generatePage();
  const given = args.filter((arg) => !['--no-setup', `--${part}`].includes(arg));
  // Jest runs every file that matches one of the patterns, so a file named by the user replaces them.
  const isFileGiven = given.some((arg) => arg.startsWith('test/'));
  return runJest([...(isFileGiven || !part ? [] : selection(part)), ...given], env, args.length === 0);
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
