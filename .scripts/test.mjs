/**
 * `npm test`: prepares a fresh clone (dependencies, redis-server, build) and runs Jest; arguments are passed on to it.
 * `--no-setup` runs Jest at once, for working on one test with everything in place. `--quick` runs the tests that tell
 * within a minute or so whether a change is right: see QUICK. `--stores` runs those that need a server or a program which
 * nothing else needs, and sets these up: see STORES. `--package` runs applications that install the package, as part of
 * `npm run check:package`. `--rules` (`npm run rules:table`) runs the rules that every store has, and prints how many tests
 * of each there are for each store.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateLua } from './generate-lua.mjs';
import { generatePageIfPossible } from './generate-page.mjs';
import { ensureChromium } from './setup-chromium.mjs';
import { ensureEtcd } from './setup-etcd.mjs';
import { ensurePostgres, findOrFetchPooler } from './setup-postgres.mjs';
import { ensureZooKeeper } from './setup-zookeeper.mjs';
import { findOrFetchPromtool } from './setup-promtool.mjs';
import { SetupError, ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * The tests of `npm run test:quick`: each class by itself, the rules of every store over memory and one Redis, and those
 * tests of faults that take seconds. They need no build. What is left out runs other topologies, Nest and processes.
 */
const QUICK = [
  'test/unit/',
  'test/contract/memory.test.ts',
  'test/contract/redis.test.ts',
  'test/faults/(commands|batches|late-pushes|outcomes|re-entry|retry).test.ts',
];

/**
 * The tests of `npm run test:stores`, by what they need: a server, a browser or a program that nothing else needs.
 * `npm test` leaves them out, with a line for each.
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
  'all three of them': [
    'test/integration/(store-demos|store-fences|moving-stores).test.ts',
    'test/faults/(advice|health|restored-snapshots).test.ts',
  ],
  'a browser': ['test/browser/[a-z-]+.test.ts'],
  promtool: ['test/integration/promtool.test.ts'],
};

/**
 * The tests of `npm run check:package`: what they install comes from the registry, which takes longer than any other test.
 * `npm test` leaves them out, with a line for it.
 */
const PACKAGE = ['test/package/consumers.test.ts'];

/** The tests of `npm run rules:table`: the same rules over one store after the other. */
const RULES = [
  'test/contract/(memory|fallback|redis|redis-sentinel|redis-cluster|quorum|postgres|etcd|zookeeper).test.ts',
  'test/faults/(etcd|postgres|zookeeper)-(faults|cluster|exit|start).test.ts',
];
const REPORTERS = [
  'default',
  join(root, '.scripts/totals-reporter.mjs'),
  join(root, '.scripts/rules-table.mjs'),
];

function prepareStores() {
  ensureDependencies();
  const redis = ensureRedisServer();
  const chromium = ensureChromium();
  const { programs, libraries } = ensurePostgres();
  const pooler = findOrFetchPooler();
  const zookeeper = ensureZooKeeper();
  // Some tests start processes that use the package as it is built.
  ensureBuild();
  const promtool = findOrFetchPromtool();
  return {
    ...(promtool && { PROMTOOL: promtool }),
    POSTGRES_PROGRAMS: programs,
    ...(libraries && { POSTGRES_LIBRARIES: libraries }),
    ...(pooler && { PGBOUNCER: pooler.program }),
    ...(pooler?.libraries && { PGBOUNCER_LIBRARIES: pooler.libraries }),
    ETCD_SERVER: ensureEtcd(),
    ...(zookeeper && { ZOOKEEPER_LIBRARIES: zookeeper.libraries }),
    PATH: [dirname(redis.path), process.env['PATH']].join(delimiter),
    // Also where it is undefined: what the variable named before may be no program.
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
  // Tests start the program by its name, wherever it was found.
  return { PATH: [dirname(redis.path), process.env['PATH']].join(delimiter) };
}

/** Tests make much that is soon forgotten: with more room for it, they spend less of their time on collecting it. */
const YOUNG_SPACE = '--max-semi-space-size=32';

function runJest(args, env) {
  // Jest runs ES modules only with this flag, in its workers too: they inherit the flags of their parent.
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
  }
  // After everything that Jest prints itself, so that a reader of logs finds the result in the last line.
  const totals = output?.[3];
  if (totals) console.log(totals);
  return status ?? 1;
}

const OWN = ['--no-setup', '--quick', '--stores', '--package', '--rules'];
const args = process.argv.slice(2);
const isQuick = args.includes('--quick');
const isOfStores = args.includes('--stores');
const isOfPackage = args.includes('--package');
const isOfRules = args.includes('--rules');
/** Who asks for some of the tests gets them: those that lack their server say so themselves. */
const isWhole = args.length === 0;
const jestArgs = [
  ...(isQuick ? QUICK : isOfStores ? Object.values(STORES).flat() : isOfPackage ? PACKAGE : []),
  ...(isOfRules ? [...RULES, ...REPORTERS.map((reporter) => `--reporters=${reporter}`)] : []),
  ...(isWhole ? [...Object.values(STORES).flat(), ...PACKAGE] : []).map(
    (pattern) => `--testPathIgnorePatterns=${pattern}`,
  ),
  ...args.filter((arg) => !OWN.includes(arg)),
];
try {
  const needsStores = isOfStores || isOfRules;
  const env = args.includes('--no-setup') ? {} : needsStores ? prepareStores() : prepare(isQuick);
  // Also without set-up: a test of yesterday's Lua, or page, misleads.
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
