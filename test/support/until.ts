import { setTimeout as elapseForReal } from 'node:timers/promises';
import { firstValueFrom, type Observable } from 'rxjs';
import { filter } from 'rxjs/operators';
import { ownTime } from './stopwatch.js';
import { VirtualTime } from './virtual-time.js';

/** Resolves after so many ms, also where a test has replaced the timers that the library uses. */
export function elapse<T = void>(
  ms: number,
  value?: T,
  options: { readonly signal?: AbortSignal } = {},
): Promise<T> {
  const inVirtualTime = VirtualTime.current?.elapse(ms, value as T, options.signal);
  return inVirtualTime ?? elapseForReal(ms, value as T, options);
}

/** Fails loudly when `promise` has not settled after `ms`, instead of leaving it to the runner's time limit. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const tooLate = ownTime(ms, { signal: stop.signal }).then(
    () => Promise.reject(new Error(`waited ${ms} ms in vain for ${what}`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    stop.abort();
  }
}

/** What can come of a probe that has given something truthy. */
type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/** The last resort where nothing tells of the change: asks `probe` until it gives something truthy. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  { deadline = 10_000, every = 5 }: { deadline?: number; every?: number } = {},
): Promise<Truthy<T>> {
  const stop = new AbortController();
  const over = new AbortController();
  ownTime(deadline, { signal: stop.signal }).then(
    () => over.abort(),
    () => undefined,
  );
  try {
    for (;;) {
      const answer = await probe();
      // The compiler does not draw this conclusion for a type parameter.
      if (answer) return answer as Truthy<T>;
      if (over.signal.aborted) throw new Error(`waited ${deadline} ms in vain until ${what}`);
      await elapse(every);
    }
  } finally {
    stop.abort();
  }
}

/** The same for what ends in real time, also where a test has a time of its own, in which many seconds are over at once. */
export async function untilForReal(what: string, probe: () => boolean, deadline = 60_000): Promise<void> {
  const end = process.hrtime.bigint() + BigInt(deadline) * 1_000_000n;
  while (!probe()) {
    if (process.hrtime.bigint() > end) throw new Error(`waited ${deadline} ms in vain until ${what}`);
    await elapseForReal(5);
  }
}

/** The next event that fits. Call it before the act that causes the event. */
export function next<E, F extends E>(
  events: Observable<E>,
  fits: (event: E) => event is F,
  ms?: number,
): Promise<F>;
export function next<E>(events: Observable<E>, fits: (event: E) => boolean, ms?: number): Promise<E>;
export function next<E>(events: Observable<E>, fits: (event: E) => boolean, ms = 10_000): Promise<E> {
  return within(ms, 'an event', firstValueFrom(events.pipe(filter(fits))));
}

/** What a promise has come to after all work that is ready by now has run. */
export async function stateOf(promise: Promise<unknown>): Promise<'pending' | 'fulfilled' | 'rejected'> {
  const turns = async (): Promise<'pending'> => {
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    return 'pending';
  };
  return Promise.race([
    promise.then(
      () => 'fulfilled' as const,
      () => 'rejected' as const,
    ),
    turns(),
  ]);
}

/** The error that `promise` rejects with; fails when it does not reject. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

/** Keeps the event loop from turning, like a long synchronous computation. */
export function blockEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
