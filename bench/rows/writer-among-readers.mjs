import { Actor } from '../harness/actor.mjs';
import { spreadOf } from '../harness/statistics.mjs';

/** How long a writer may wait in addition to the longest reader that holds the lock already. */
export const BOUND_MS = 100;

let keys = 0;

/**
 * Measures a writer that repeatedly acquires the lock after a pause, while other processes read.
 *
 * @param {{ processes: number, readersEach: number, sectionMs: number, writes: number, pauseMs: [number, number] }} plan
 *   `pauseMs`: minimum and maximum, uniformly distributed
 */
export async function measureWriter({ url, stats }, { processes, readersEach, sectionMs, writes, pauseMs }) {
  await stats.empty();
  const key = `written:${++keys}`;
  const readers = Array.from({ length: processes }, () => new Actor('readers.mjs'));
  const writer = new Actor('writer.mjs');
  const actors = [...readers, writer];
  try {
    await Promise.all(actors.map((actor) => actor.call('open', url)));
    await Promise.all(readers.map((actor) => actor.call('start', key, readersEach, sectionMs)));
    const { waits, failed } = await writer.call('write', key, writes, pauseMs);
    const longestReader = Math.max(...(await Promise.all(readers.map((actor) => actor.call('stop')))));
    return {
      writes,
      misses: failed + waits.filter((wait) => wait > BOUND_MS + longestReader).length,
      wait: spreadOf(waits),
      longestReader,
    };
  } finally {
    await Promise.all(actors.map((actor) => actor.kill()));
  }
}
