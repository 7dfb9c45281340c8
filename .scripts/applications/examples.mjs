import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareApplication, startInstance } from './application.mjs';

/** The folder with all examples, which have their dependencies in common. */
export const examples = fileURLToPath(new URL('../../examples', import.meta.url));

/**
 * `prisma generate` downloads the engine for migrations if it has none, and never runs it. Naming a program as that engine saves
 * the download, from a host that is not a package registry.
 */
const GENERATE_OFFLINE = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };

/** The names of all examples: the folders with a `src/main.ts`. */
export function exampleNames() {
  return readdirSync(examples)
    .filter((name) => existsSync(join(examples, name, 'src/main.ts')))
    .sort();
}

/** Whether an example keeps data in PostgreSQL. */
export function needsDatabase(name) {
  const files = readdirSync(join(examples, name, 'src'), { withFileTypes: true }).filter((it) => it.isFile());
  return files.some((it) =>
    readFileSync(join(examples, name, 'src', it.name), 'utf8').includes('DATABASE_URL'),
  );
}

/** The SQL of the migrations of an example with Prisma, which creates its tables. The program that applies them is no npm package. */
export function tablesOf(name) {
  const folder = join(examples, name, 'prisma/migrations');
  if (!existsSync(folder)) return undefined;
  const migrations = readdirSync(folder)
    .sort()
    .map((one) => join(folder, one, 'migration.sql'));
  return migrations
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');
}

/** The Java programs of an example, of which the first is started. */
export function javaProgramsOf(name) {
  const folder = join(examples, name, 'java');
  return existsSync(folder) ? readdirSync(folder).map((file) => join(folder, file)) : [];
}

/** The compiled program of an example, relative to the folder of all examples. */
export function programOf(name) {
  return `dist/${name}/src/main.js`;
}

/** Installs and builds the library and all examples, if anything has changed. */
export function prepareExamples({ leftovers, log }) {
  return prepareApplication({
    folder: examples,
    title: 'the examples',
    sources: exampleNames().flatMap((name) => [`${name}/src`, `${name}/prisma`]),
    buildEnv: GENERATE_OFFLINE,
    leftovers,
    log,
  });
}

/**
 * Starts a process of an example on a free port.
 *
 * @param {{ name: string, env: Record<string, string>, leftovers: import('./leftovers.mjs').Leftovers }} options
 * @returns {Promise<import('./application.mjs').Instance>}
 */
export function startExample({ name, env, leftovers }) {
  return startInstance({
    folder: examples,
    script: programOf(name),
    name,
    env: { ...env, PORT: '0' },
    leftovers,
  });
}
