/**
 * `npm run example NAME [PROCESSES]`: installs and builds what an application of `examples/` needs, starts a private Redis
 * (or uses `REDIS_URL`) and, if it needs one, a private PostgreSQL (or uses `DATABASE_URL`), and runs that many processes of
 * the application, by default one, on ports from `PORT` (3000), until Ctrl-C.
 */
import { once } from 'node:events';
import { basename } from 'node:path';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import {
  examples,
  exampleNames,
  javaProgramsOf,
  needsDatabase,
  prepareExamples,
  programOf,
  tablesOf,
} from './applications/examples.mjs';
import { ensureRedisson } from './setup-java.mjs';
import { withLeftovers } from './applications/leftovers.mjs';
import { prepareLockStore } from './applications/lock-store.mjs';
import { startPrivatePostgres } from './applications/private-servers.mjs';
import { SetupError } from './setup.mjs';

const FIRST_PORT = Number(process.env['PORT'] ?? 3_000);
const MAX_PROCESSES = 9;
/** The port of a Java service, after those of the processes. */
const JAVA_PORT = FIRST_PORT + 100;
const print = (text) => process.stdout.write(`${text}\n`);

/** @throws {SetupError} for an invalid command line */
function readArguments([name, processes = '1']) {
  const names = exampleNames();
  if (!names.includes(name)) throw new SetupError(`npm run example NAME, with one of: ${names.join(', ')}`);
  const count = Number(processes);
  if (!Number.isInteger(count) || count < 1 || count > MAX_PROCESSES) {
    throw new SetupError(`The number of processes must be from 1 to ${MAX_PROCESSES}, not "${processes}".`);
  }
  return { name, count };
}

async function createTables(connectionString, sql) {
  if (sql === undefined) return;
  const { Client } = createRequire(`${examples}/package.json`)('pg');
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function run({ name, count }, leftovers) {
  await prepareExamples({ leftovers, log: print });
  const folder = leftovers.folder('nestjs-distributed-lock-example-');
  const { title, env, single } = await prepareLockStore({
    folder,
    application: examples,
    leftovers,
    log: print,
  });
  if (single) throw new SetupError('The examples need Redis: install redis-server, or set REDIS_URL.');
  if (needsDatabase(name) && !process.env['DATABASE_URL']) {
    env.DATABASE_URL = (await startPrivatePostgres(folder, leftovers, print)).url;
    await createTables(env.DATABASE_URL, tablesOf(name));
  }
  const programs = javaProgramsOf(name);
  if (programs.length > 0) {
    const { classPath } = ensureRedisson({ programs, required: true, log: print });
    const javaEnv = { ...process.env, ...env, PORT: `${JAVA_PORT}` };
    const { child } = leftovers.spawn('java', ['-cp', classPath, basename(programs[0], '.java')], {
      env: javaEnv,
    });
    createInterface({ input: child.stdout }).on('line', (line) => print(`[Java] ${line}`));
  }
  print(`Locks in ${title}. Ctrl-C stops the example; examples/${name}/README.md shows what to try.`);
  const ends = Array.from({ length: count }, async (_, index) => {
    const { child } = leftovers.spawn(process.execPath, [programOf(name)], {
      cwd: examples,
      env: { ...process.env, ...env, PORT: `${FIRST_PORT + index}` },
    });
    const prefix = count === 1 ? '' : `[${index + 1}] `;
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => print(prefix + line));
    }
    const [code] = await once(child, 'close');
    if (code !== 0) process.exitCode = 1;
  });
  await Promise.all(ends);
}

try {
  const order = readArguments(process.argv.slice(2));
  await withLeftovers((leftovers) => run(order, leftovers));
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof SetupError ? error.message : error.stack}\n`);
}
