import { elapse } from './until.js';

/**
 * By how many ms more than `ms` the action takes, beyond what a bare timer followed by a round trip to the store takes in
 * the same moment. The least of several tries: it asks what the library can do, not how busy the machine is.
 */
export async function bestLateness(
  ms: number,
  roundTrip: () => Promise<unknown>,
  action: () => Promise<void>,
  tries = 5,
): Promise<number> {
  let best = Infinity;
  for (let attempt = 0; attempt < tries && best > 50; attempt++) {
    const control = timed(() => elapse(ms).then(roundTrip));
    const measured = timed(action);
    best = Math.min(best, (await measured) - Math.max(ms, await control));
  }
  return best;
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

interface Losable {
  readonly remaining: number;
  readonly signal: AbortSignal;
}

/**
 * How far from its deadline a hold that can't be renewed any more is told to be lost, ms. A timer for the same moment
 * shows what a busy machine adds. Call it when nothing can move the deadline any more.
 */
export async function latenessOfAbort(hold: Losable): Promise<{ early: number; late: number }> {
  const { remaining } = hold;
  const deadline = performance.now() + remaining;
  const control = elapse(Math.ceil(remaining)).then(() => performance.now());
  const aborted = await new Promise<number>((resolve) => {
    hold.signal.addEventListener('abort', () => resolve(performance.now()), { once: true });
  });
  const expected = Math.max(deadline, await control);
  return { early: Math.max(0, deadline - aborted), late: Math.max(0, aborted - expected) };
}
