/**
 * `npm run matrix`: runs a suite on every supported platform, each version of a runtime, library or server in turn, and writes
 * the results to test/matrix/results.json and to the tables of README.md and docs/upgrading.md.
 *
 *   npm run matrix                             everything, about 50 minutes on two idle cores
 *   npm run matrix -- node redis/7.4           all versions of Node, and Redis 7.4
 *   npm run matrix -- --list                   the names
 *   npm run matrix -- --tables                 only writes the tables
 *
 * Servers come from the packages that `setup-servers.mjs` and other set-up scripts know. One that can't be had on this machine
 * is reported as not run. The exit code is 1 if a test failed or a platform was not run.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureEtcd } from './setup-etcd.mjs';
import { DEVELOPED, ensureNode } from './setup-node.mjs';
import { fetchPostgres, fetchRedis } from './setup-servers.mjs';
import { ensureZooKeeper } from './setup-java.mjs';
import { SetupError, ensureBuild, ensureDependencies, ensureRedisServer, ensureTestTools } from './setup.mjs';
import { installFromNpm, run } from './unpacked-programs.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

const UNIT = 'test/unit/';
const MEMORY = 'test/contract/memory.test.ts';
const REDIS = 'test/contract/redis.test.ts';
const CONSUMERS = 'test/package/consumers.test.ts';

/** The contract on one server and on several, and faults that depend on what a server does. */
const ON_REDIS = [
  'test/contract/(redis|redis-sentinel|redis-cluster).test.ts',
  'test/faults/(server-faults|start-check|commands).test.ts',
];

/** The contract, and the faults that need no other program than the server. */
const ON_POSTGRES = [
  'test/contract/postgres.test.ts',
  'test/faults/postgres-(connections|deleted|faults|start).test.ts',
];
const ON_ETCD = ['test/contract/etcd.test.ts', 'test/faults/etcd-(data|faults|start|turns).test.ts'];
const ON_ZOOKEEPER = [
  'test/contract/zookeeper.test.ts',
  'test/faults/zookeeper-(crash|faults|start).test.ts',
];

/** What a program prints about its version. */
function reportedBy(program, args, pattern) {
  const version = pattern.exec(run(program, args) ?? '')?.[1];
  if (version === undefined) throw new SetupError(`${program} does not report its version`);
  return version;
}

/** The Node that runs the tests of all cells except those of Node itself. */
const developed = () => ensureNode(DEVELOPED).folder;

/**
 * Runs tests in processes with this environment.
 *
 * @param {{ tests: string[], node?: string, env?: Record<string, string> }} options `tests`: files, and further arguments of
 *   Jest; `node`: the folder of the program that runs them
 */
function runTests({ tests, node = developed(), env = {} }) {
  const { stdout, stderr } = spawnSync(
    join(node, 'node'),
    [join(root, '.scripts/test.mjs'), '--no-setup', ...tests, '--maxWorkers=1'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      env: { ...process.env, ...env, PATH: [node, process.env['PATH']].join(delimiter) },
    },
  );
  const [, passed, failed] = /^(\d+) passed, (\d+) failed\s*$/m.exec(stdout) ?? [];
  const output = `${stdout}${stderr}`;
  // Without a total nothing ran to its end.
  return passed === undefined
    ? { passed: 0, failed: 1, output }
    : { passed: Number(passed), failed: Number(failed), output };
}

/** Installs packages into a folder for as long as `use` takes. */
function withPackages(packages, use) {
  const folder = mkdtempSync(join(tmpdir(), 'lock-matrix-'));
  try {
    install(folder, packages);
    return use(join(folder, 'node_modules'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function install(folder, packages) {
  const failure = installFromNpm(folder, packages);
  if (failure !== undefined) throw new SetupError(failure);
}

const versionIn = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version;

function runNode(major) {
  const { folder, version } = ensureNode(major);
  return { version, ...runTests({ node: folder, tests: [UNIT, MEMORY, REDIS, CONSUMERS] }) };
}

/** Applications that install the package. Titles of their tests begin with the version of Nest. */
function runNest(major) {
  const consumers = ['nest11-commonjs', 'nest11-jest', 'nest12-esm'].map(
    (name) =>
      JSON.parse(readFileSync(join(root, 'test/package/consumers', name, 'package.json'), 'utf8'))
        .dependencies['@nestjs/core'],
  );
  const versions = consumers.filter((version) => version.startsWith(`${major}.`));
  return {
    version: versions.join(', '),
    ...runTests({ tests: [CONSUMERS, '--testNamePattern', `Nest ${major}\\b`] }),
  };
}

function runIoredis(wanted) {
  return withPackages([`ioredis@${wanted}`], (modules) => {
    const folder = join(modules, 'ioredis');
    const tests = [
      'test/contract/(redis|redis-sentinel|redis-cluster).test.ts',
      'test/faults/(reconnect|sentinel-connection|secrets|start-check).test.ts',
      'test/unit/(stores/redis|engine)/(own-settings|before-the-first-connection|encoded-call).test.ts',
    ];
    return { version: versionIn(folder), ...runTests({ tests, env: { IOREDIS: folder } }) };
  });
}

/** The application of test/matrix/every-entry, which imports every entry point of the tarball as ES module and CommonJS. */
let everyEntry;

function installEveryEntry() {
  const folder = mkdtempSync(join(tmpdir(), 'lock-matrix-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(root, 'test/matrix/every-entry'), folder, { recursive: true });
  const packed = run(
    'npm',
    ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder],
    root,
  );
  if (packed === undefined) throw new SetupError('npm pack failed');
  install(folder, [join(folder, packed.trim().split('\n').at(-1))]);
  const { name, exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const entries = Object.keys(exports)
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => entry.replace('.', name));
  mkdirSync(join(folder, 'src'));
  for (const ending of ['mts', 'cts']) {
    const imports = entries.map((entry, index) => `import * as entry${index} from '${entry}';`);
    const all = entries.map((_, index) => `entry${index}`).join(', ');
    writeFileSync(
      join(folder, 'src', `main.${ending}`),
      `${imports.join('\n')}\nexport const all = [${all}];\n`,
    );
  }
  return { folder, count: 2 * entries.length };
}

function runTypeScript(wanted) {
  everyEntry ??= installEveryEntry();
  const { folder, count } = everyEntry;
  return withPackages([`typescript@${wanted}`], (modules) => {
    const { status, stdout } = spawnSync(
      join(developed(), 'node'),
      [join(modules, 'typescript/bin/tsc'), '--project', folder],
      { encoding: 'utf8' },
    );
    const version = versionIn(join(modules, 'typescript'));
    return status === 0
      ? { version, passed: count, failed: 0, output: '' }
      : {
          version,
          passed: 0,
          failed: stdout.split('\n').filter((line) => / error TS/.test(line)).length,
          output: stdout,
        };
  });
}

function runRedis(name) {
  const program = fetchRedis(name);
  const version = reportedBy(program, ['--version'], /v=([\d.]+)/);
  // Tests can't set the clock of this build.
  const env = name === 'valkey/9.1' ? { SERVER_CLOCKS: 'real' } : {};
  return { version, ...runTests({ tests: ON_REDIS, env: { REDIS_SERVER: program, ...env } }) };
}

function runPostgres(major) {
  const programs = fetchPostgres(major);
  const version = reportedBy(join(programs, 'postgres'), ['--version'], /([\d.]+)\s*$/);
  return { version, ...runTests({ tests: ON_POSTGRES, env: { POSTGRES_PROGRAMS: programs } }) };
}

function runEtcd(wanted) {
  const program = ensureEtcd({ version: wanted });
  const version = reportedBy(program, ['--version'], /Version: ([\d.]+)/);
  return { version, ...runTests({ tests: ON_ETCD, env: { ETCD_SERVER: program } }) };
}

function runZooKeeper(wanted) {
  const { libraries } = ensureZooKeeper({ version: wanted, required: true });
  const version = reportedBy(
    'java',
    ['-cp', join(libraries, '*'), 'org.apache.zookeeper.Version'],
    /^([\d.]+)/,
  );
  return { version, ...runTests({ tests: ON_ZOOKEEPER, env: { ZOOKEEPER_LIBRARIES: libraries } }) };
}

/** Runs each version by its name. */
const CELLS = new Map([
  ...['20', '22', '24', '26'].map((major) => [`node/${major}`, () => runNode(major)]),
  ...['11', '12'].map((major) => [`nest/${major}`, () => runNest(major)]),
  ...['5.2', '5.3', '5.4', '5.5', '5.6', '5.7', '5.8', '5.9', '6.0', '7.0'].map((wanted) => [
    `typescript/${wanted}`,
    () => runTypeScript(wanted),
  ]),
  ...['5.4.1', '5', '6'].map((wanted) => [`ioredis/${wanted}`, () => runIoredis(wanted)]),
  ...['redis/6.2', 'redis/7.0', 'redis/7.4', 'redis/8.0', 'valkey/8.1', 'valkey/9.1'].map((name) => [
    name,
    () => runRedis(name),
  ]),
  ...['13', '14', '15', '16', '17', '18'].map((major) => [`postgres/${major}`, () => runPostgres(major)]),
  ['etcd/3.4', () => runEtcd()],
  ['etcd/3.5', () => runEtcd('3.5.35')],
  ['etcd/3.6', () => runEtcd('3.6.16')],
  ['zookeeper/3.8', () => runZooKeeper('3.8.6')],
  ['zookeeper/3.9', () => runZooKeeper('3.9.5')],
]);

/** The cells that an argument selects: one name, or all names that begin with it. */
function select(wanted) {
  const names = [...CELLS.keys()].filter((name) => name === wanted || name.startsWith(`${wanted}/`));
  if (names.length === 0) throw new SetupError(`"${wanted}" is none of ${[...CELLS.keys()].join(', ')}.`);
  return names;
}

function runCell(name) {
  const started = performance.now();
  try {
    const { output, ...result } = CELLS.get(name)();
    const log = join(tmpdir(), `lock-matrix-${name.replace('/', '-')}.log`);
    if (result.failed > 0) writeFileSync(log, output);
    const seconds = Math.round((performance.now() - started) / 1_000);
    const where = result.failed > 0 ? `, see ${log}` : '';
    console.log(
      `${name}: ${result.version}, ${result.passed} passed, ${result.failed} failed, ${seconds} s${where}`,
    );
    return { ...result, date: new Date().toISOString().slice(0, 10) };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    console.log(`${name}: not run: ${error.message}`);
    return { notRun: error.message };
  }
}

async function main(args) {
  if (args.includes('--list')) return console.log([...CELLS.keys()].join('\n'));
  const names = args.length === 0 || args.includes('--tables') ? [...CELLS.keys()] : args.flatMap(select);
  ensureDependencies();
  // Needs the dependencies.
  const { saveResults, writePages } = await import('./matrix-tables.mjs');
  if (args.includes('--tables')) return await writePages();
  ensureRedisServer();
  ensureTestTools();
  ensureBuild();
  const results = {};
  for (const name of names) {
    results[name] = runCell(name);
    saveResults({ [name]: results[name] });
  }
  await writePages();
  if (Object.values(results).some(({ failed }) => failed !== 0)) process.exitCode = 1;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
