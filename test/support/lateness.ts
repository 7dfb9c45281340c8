import { elapse } from './until.js';

/**
 * How many ms longer than `ms` the action takes, beyond the time of a bare timer and a round trip to the store at the same
 * time. The minimum of several tries, which shows the library's own delay on a busy machine.
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
 * How far from its deadline the loss of a hold that can no longer be renewed is reported, ms. A timer for the same time
 * shows the delay of a busy machine. Call it when nothing can move the deadline any more.
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
