import { readFileSync } from 'node:fs';

// `against/revision.mjs` sets the variable to the build of another revision.
const { NestFactory, DistributedLockModule, LockService, Locked } = await import(
  process.env['BENCH_BUILD'] ?? './this-build.mjs'
);
export { Locked };

/** This library as an application uses it: the built package, its module, its service. */
export const name = 'nestjs-distributed-lock';
export const kind = 'ours';
/** All variants use the defaults of the module; they differ in the measured call. */
export const settings = { withLock: {}, awaited: {}, fair: {} };
export const labels = {
  awaited: `${name}, release() awaited`,
  fair: `${name}, fair`,
};

export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The measured call of each variant. */
const USES = {
  withLock: (locks) => (key, fn) => locks.withLock(key, fn),
  awaited: (locks) => async (key, fn) => {
    const handle = await locks.acquire(key);
    try {
      return await fn();
    } finally {
      await handle.release();
    }
  },
  fair: (locks) => (key, fn) => locks.withLock(key, { fair: true }, fn),
};

/**
 * Starts a Nest application with the module.
 *
 * @param {object} moduleOptions options of `DistributedLockModule.forRoot()`
 * @param {Function[]} [providers] further providers of the application
 */
export async function openApplication(moduleOptions, providers = []) {
  class BenchModule {}
  const definition = {
    module: BenchModule,
    imports: [DistributedLockModule.forRoot(moduleOptions)],
    providers,
  };
  const app = await NestFactory.createApplicationContext(definition, { logger: ['error', 'warn'] });
  return { app, locks: app.get(LockService) };
}

/**
 * Makes the `open` function of a candidate.
 *
 * @param {(url: string) => object} storeOptions the module options for a server at a URL
 */
export const openWith = (storeOptions) => async (url, moduleOptions, sharing, variant) => {
  const { app, locks } = await openApplication({ ...storeOptions(url), ...moduleOptions });
  const withLock = sharing ? (key, fn) => locks.withLock(key, sharing, fn) : USES[variant](locks);
  return { version, withLock, close: () => app.close() };
};

export const open = openWith((redis) => ({ redis }));
