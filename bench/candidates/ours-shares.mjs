import { openApplication, version } from './ours.mjs';

/** Read locks and semaphores of this library, by the options of `withLock`. */
export const name = 'nestjs-distributed-lock';
export const kind = 'ours';
/** The defaults of the module. */
export const settings = { readme: {} };

/** @param {import('./candidates.mjs').Sharing} sharing */
export async function open(url, moduleOptions, sharing) {
  const { app, locks } = await openApplication({ redis: url, ...moduleOptions });
  return {
    version,
    withLock: (key, fn) => locks.withLock(key, sharing, fn),
    close: () => app.close(),
  };
}
