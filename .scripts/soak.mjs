/**
 * `npm run soak`: processes compete for locks for a given time while processes, network and servers fail. Checks the history
 * afterwards. See docs/internals/soak.md.
 */
import { ensureEtcd } from './setup-etcd.mjs';
import { ensurePostgres } from './setup-postgres.mjs';
import { ensureRedisson, ensureZooKeeper } from './setup-java.mjs';
import { buildPorcupine } from './setup-porcupine.mjs';
import { SetupError, ensureBuild, ensureDependencies, ensureRedisServer } from './setup.mjs';

const redis = () => ensureRedisServer().path;
const SET_UP = {
  redis,
  'one-address': redis,
  sentinel: redis,
  cluster: redis,
  quorum: redis,
  postgres: ensurePostgres,
  etcd: ensureEtcd,
  zookeeper: () => ensureZooKeeper({ required: true }),
};

try {
  ensureDependencies();
  ensureBuild();
  const args = process.argv.slice(2);
  // Imported dynamically, since both need the dependencies.
  if (args.join(' ').includes('--store redisson')) {
    const { classPath, version } = ensureRedisson({ required: true });
    const { soakWithJava } = await import('../test/interop/soak.mjs');
    process.exitCode = await soakWithJava(args, { classPath, version, program: ensureRedisServer().path });
  } else {
    const { main } = await import('../test/soak/main.mjs');
    process.exitCode = await main(args, (store) => SET_UP[store](), buildPorcupine);
  }
} catch (error) {
  if (!(error instanceof SetupError) && error.name !== 'UsageError') throw error;
  console.error(error.message);
  process.exitCode = 1;
}
