import { openSync, writeSync } from 'node:fs';
import { monotonic } from './monotonic.mjs';

const BEAT = 10;
/** A longer block of the event loop extends the bounds of everything due meanwhile. */
const STALL = 25;

/**
 * Carries out the orders of the fleet.
 *
 * @param {{ pushed: import('./pushed-events.mjs').PushedEvents, finish: (abrupt: boolean) => unknown,
 *   others: (message: object) => void }} means   `finish`: closes the process; `others`: gets all other messages
 */
export function obey({ pushed, finish, others }) {
  let ending;
  process.on('message', (message) => {
    if (message.order === 'drop pushed events') pushed.drop(message.ms);
    else if (message.order === 'end') ending ??= finish(message.abrupt);
    else others(message);
  });
  // The parent has exited.
  process.on('disconnect', () => ending ?? process.exit());
}

/**
 * The log of a process under test, to which it records its errors and the times in which its event loop was blocked.
 *
 * @param {{ id: string, log: string }} settings
 */
export function observeProcess({ id, log }) {
  const file = openSync(log, 'a');
  // Written synchronously: a killed process must have recorded its events.
  const record = (event) => {
    writeSync(file, `${JSON.stringify({ t: monotonic(), p: id, ...event })}\n`);
  };
  const trouble = (e) => (error) => record({ e, m: String(error?.stack ?? error) });
  process.on('unhandledRejection', trouble('unhandled'));
  process.on('uncaughtException', trouble('uncaught'));
  process.on('warning', trouble('warning'));

  let lastBeat = monotonic();
  const heart = setInterval(() => {
    const now = monotonic();
    if (now - lastBeat > BEAT + STALL) record({ e: 'stall', from: lastBeat, t: now });
    lastBeat = now;
  }, BEAT);
  const logger = { log: () => undefined, warn: () => undefined, error: trouble('logged') };
  const end = () => {
    clearInterval(heart);
    record({ e: 'done', rss: process.memoryUsage.rss() });
    // From here on only leftovers of the library keep the process alive.
    setInterval(() => record({ e: 'alive', by: process.getActiveResourcesInfo() }), 2_000).unref();
  };
  return { record, logger, end };
}
