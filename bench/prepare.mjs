import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureEtcd } from '../.scripts/setup-etcd.mjs';
import { ensureCurator, ensureRedisson, ensureZooKeeper } from '../.scripts/setup-java.mjs';
import { ensurePostgres } from '../.scripts/setup-postgres.mjs';
import { ensureBuild, ensureDependencies, ensureRedisServer, SetupError } from '../.scripts/setup.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

const ioredisIn = (folder) =>
  JSON.parse(readFileSync(new URL(`${folder}/ioredis/package.json`, import.meta.url), 'utf8')).version;

/**
 * Installs and builds the prerequisites of a run: dependencies, this package, redis-server.
 *
 * @param {{ peers: boolean }} options whether the run also measures other libraries
 * @returns {string} path of redis-server
 */
export function prepare({ peers }) {
  ensureDependencies();
  if (peers) ensureDependencies({ cwd: here });
  ensureBuild();
  if (peers) ensureSameClient();
  return ensureRedisServer().path;
}

const PROGRAMS = {
  postgres: ensurePostgres,
  etcd: ensureEtcd,
  zookeeper: () => ({
    ...ensureZooKeeper({ required: true }),
    curator: ensureCurator(join(here, 'candidates/curator/Locks.java')),
  }),
};

/**
 * The same for a store other than Redis, without other libraries.
 *
 * @returns {unknown} the argument of `openServer` of the store
 */
export function prepareStore(store) {
  ensureDependencies();
  ensureBuild();
  return PROGRAMS[store]();
}

/** The same for the comparison with Redisson. */
export function prepareRedisson() {
  const program = prepare({ peers: false });
  const programs = [join(here, 'redisson/RedissonLoad.java')];
  return { program, ...ensureRedisson({ programs, required: true }) };
}

function ensureSameClient() {
  const [library, others] = [ioredisIn('../node_modules'), ioredisIn('./node_modules')];
  if (library === others) return;
  throw new SetupError(
    `The library uses ioredis ${library}, floor and peers use ${others}. Write "ioredis": "${library}" in ` +
      'bench/package.json and run npm install in bench.',
  );
}
