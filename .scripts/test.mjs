/**
 * `npm test`: prepares a fresh clone (dependencies, redis-server, build) and runs Jest with the given arguments.
 * `--no-setup` skips the set-up. `--quick` runs the tests that check a change within about a minute: see QUICK. `--stores`
 * sets up further servers and programs, and runs the tests that need them: see STORES. `--package` runs applications that
 * install the package, as part of `npm run check:package`. `--examples` (`npm run test:examples`) runs the applications of
 * `examples/`. `--site` runs the tests of the built documentation site, as part of `npm run docs:test`. `--rules` (`npm run rules:table`) runs the rules common to all
 * stores, and prints the number of tests of each rule for each store.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateLua } from './generate-lua.mjs';
import { generatePageIfPossible } from './generate-page.mjs';
import { ensurePreviousBuild } from './previous-build.mjs';
import { ensureChromium } from './setup-chromium.mjs';
import { ensureEtcd } from './setup-etcd.mjs';
import { ensurePostgres, findOrFetchPooler } from './setup-postgres.mjs';
import { ensureZooKeeper } from './setup-zookeeper.mjs';
import {
  SetupError,
  ensureBuild,
  ensureDependencies,
  ensureRedisServer,
  ensureTestTools,
  toStderr,
} from './setup.mjs';
import { findOrFetch } from './unpacked-programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The tests of `npm run test:quick`: unit tests, the contract over memory and one Redis, and the fault tests that take only
 * seconds. They need no build. The remaining tests cover other topologies, Nest and processes.
 */
const QUICK = [
  'test/unit/',
  'test/contract/memory.test.ts',
  'test/contract/redis.test.ts',
  'test/faults/(commands|batches|late-pushes|outcomes|re-entry|retry).test.ts',
];

/**
 * The tests of `npm run test:stores`, by the server, browser or program that they need. `npm test` skips them, with a message
 * for each group.
 */
const STORES = {
  PostgreSQL: [
    'test/contract/postgres.test.ts',
    'test/faults/postgres-[a-z-]+.test.ts',
    'test/integration/every-store/postgres.test.ts',
    'test/integration/command-line/doctor-postgres.test.ts',
  ],
  etcd: [
    'test/contract/etcd.test.ts',
    'test/faults/etcd-[a-z-]+.test.ts',
    'test/integration/every-store/etcd.test.ts',
  ],
  ZooKeeper: [
    'test/contract/zookeeper.test.ts',
    'test/faults/zookeeper-[a-z-]+.test.ts',
    'test/integration/every-store/zookeeper.test.ts',
  ],
  'all three stores': [
    'test/integration/(store-demos|store-fences|moving-stores).test.ts',
    'test/faults/(advice|health|restored-snapshots).test.ts',
  ],
  'a build of the previous version': ['test/integration/previous-version/[a-z]+.test.ts'],
  'a browser': ['test/browser/[a-z-]+.test.ts'],
  promtool: ['test/integration/promtool.test.ts'],
};

/**
 * The tests of `npm run check:package`. They install packages from the registry, which takes longer than any other test, so
 * `npm test` skips them with a message.
 */
const PACKAGE = ['test/package/(consumers|agents).test.ts'];

/** The tests of `npm run test:examples`. They install the dependencies of the examples, so `npm test` skips them with a message. */
const EXAMPLES = ['test/examples/[a-z0-9-]+.test.ts'];

/** The tests of `npm run docs:test`, which need the built documentation site; `npm test` skips them with a message. */
const SITE = ['test/site/[a-z-]+.test.ts'];

/** The tests of `npm run rules:table`: the rules common to all stores. */
const RULES = [
  'test/contract/(memory|fallback|redis|redis-sentinel|redis-cluster|quorum|postgres|etcd|zookeeper).test.ts',
  'test/faults/(etcd|postgres|zookeeper)-(faults|cluster|exit|start).test.ts',
];
const REPORTERS = [
  'default',
  join(root, '.scripts/totals-reporter.mjs'),
  join(root, '.scripts/rules-table.mjs'),
];

function environmentOfPostgres() {
  const { programs, libraries } = ensurePostgres();
  return { POSTGRES_PROGRAMS: programs, ...(libraries && { POSTGRES_LIBRARIES: libraries }) };
}

function prepareStores() {
  ensureDependencies();
  const redis = ensureRedisServer();
  const chromium = ensureChromium();
  const postgres = environmentOfPostgres();
  const pooler = findOrFetchPooler();
  const zookeeper = ensureZooKeeper();
  // Some tests start processes that use the built package.
  ensureBuild();
  ensurePreviousBuild();
  // Checks the alert rules and the queries of the Grafana dashboard. The test that uses it is skipped without it.
  const promtool = findOrFetch('promtool', { from: 'prometheus', into: 'prometheus', log: toStderr });
  return {
    ...(promtool && { PROMTOOL: promtool }),
    ...postgres,
    ...(pooler && { PGBOUNCER: pooler.program }),
    ...(pooler?.libraries && { PGBOUNCER_LIBRARIES: pooler.libraries }),
    ETCD_SERVER: ensureEtcd(),
    ...(zookeeper && { ZOOKEEPER_LIBRARIES: zookeeper.libraries }),
    REDIS_SERVER: redis.path,
    // Also if undefined: overrides a value of the variable that names no program.
    CHROMIUM: chromium,
  };
}

function prepare(isQuick) {
  ensureDependencies();
  const redis = ensureRedisServer();
  if (!isQuick) {
    ensureTestTools();
    ensureBuild();
  }
  return { REDIS_SERVER: redis.path };
}

/** Tests allocate many short-lived objects. A larger young generation reduces the time for garbage collection. */
const YOUNG_SPACE = '--max-semi-space-size=32';

function runJest(args, env) {
  // Jest needs the first flag for ES modules. Its workers inherit the flags.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', YOUNG_SPACE];
  const { status, output } = spawnSync(
    process.execPath,
    [...flags, join(root, 'node_modules/jest/bin/jest.js'), ...args],
    {
      cwd: root,
      stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
      env: { ...process.env, ...env, TEST_TOTALS_FD: '3' },
      encoding: 'utf8',
    },
  );
  if (isWhole) {
    for (const needed of Object.keys(STORES))
      console.log(`Skipped: the tests that need ${needed}; npm run test:stores runs them.`);
    console.log('Skipped: the applications that install the package; npm run check:package runs them.');
    console.log('Skipped: the applications of examples/; npm run test:examples runs them.');
    console.log('Skipped: the documentation site; npm run docs:test runs its tests.');
  }
  // Last, so that the result is the last line of the log.
  const totals = output?.[3];
  if (totals) console.log(totals);
  return status ?? 1;
}

const OWN = ['--no-setup', '--quick', '--stores', '--package', '--examples', '--site', '--rules'];
const args = process.argv.slice(2);
const isQuick = args.includes('--quick');
const isOfStores = args.includes('--stores');
const isOfPackage = args.includes('--package');
const isOfExamples = args.includes('--examples');
const isOfSite = args.includes('--site');
const isOfRules = args.includes('--rules');
/** Tests named by the user always run; they report a missing server themselves. */
const isWhole = args.length === 0;
const given = args.filter((arg) => !OWN.includes(arg));
/** Jest runs every file that matches one of the patterns, so a file named by the user replaces them. */
const patterns = isQuick
  ? QUICK
  : isOfStores
    ? Object.values(STORES).flat()
    : isOfPackage
      ? PACKAGE
      : isOfExamples
        ? EXAMPLES
        : isOfSite
          ? SITE
          : isOfRules
            ? RULES
            : [];
const jestArgs = [
  ...(given.some((arg) => arg.startsWith('test/')) ? [] : patterns),
  ...(isOfRules ? REPORTERS.map((reporter) => `--reporters=${reporter}`) : []),
  ...(isWhole ? [...Object.values(STORES).flat(), ...PACKAGE, ...EXAMPLES, ...SITE] : []).map(
    (pattern) => `--testPathIgnorePatterns=${pattern}`,
  ),
  ...given,
];
try {
  const needsStores = isOfStores || isOfRules;
  const env = args.includes('--no-setup')
    ? {}
    : needsStores
      ? prepareStores()
      : { ...prepare(isQuick), ...(isOfExamples && environmentOfPostgres()) };
  // Also without set-up: tests must never use outdated generated modules.
  generateLua();
  await generatePageIfPossible();
  const folder = isOfRules ? mkdtempSync(join(tmpdir(), 'lock-rules-')) : undefined;
  try {
    process.exitCode = runJest(jestArgs, { ...env, ...(folder && { RULES_FOLDER: folder }) });
  } finally {
    if (folder) rmSync(folder, { recursive: true });
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
