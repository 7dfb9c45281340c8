import { setTimeout as elapseForReal } from 'node:timers/promises';
import { firstValueFrom, type Observable } from 'rxjs';
import { filter } from 'rxjs/operators';
import { ownTime } from './stopwatch.js';
import { VirtualTime } from './virtual-time.js';

/** Resolves after this time, real or virtual. */
export function elapse<T = void>(
  ms: number,
  value?: T,
  options: { readonly signal?: AbortSignal } = {},
): Promise<T> {
  const inVirtualTime = VirtualTime.current?.elapse(ms, value as T, options.signal);
  return inVirtualTime ?? elapseForReal(ms, value as T, options);
}

/** Rejects when `promise` has not settled after `ms`, before the runner's own time limit. */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const stop = new AbortController();
  const tooLate = ownTime(ms, { signal: stop.signal }).then(
    () => Promise.reject(new Error(`timed out after ${ms} ms waiting for ${what}`)),
    () => new Promise<never>(() => undefined),
  );
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    stop.abort();
  }
}

/** The truthy results of a probe. */
type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined>;

/** Calls `probe` repeatedly until it returns something truthy. Prefer {@link next} where an event reports the change. */
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
      // The compiler does not infer this for a type parameter.
      if (answer) return answer as Truthy<T>;
      if (over.signal.aborted) throw new Error(`timed out after ${deadline} ms waiting until ${what}`);
      await elapse(every);
    }
  } finally {
    stop.abort();
  }
}

/** The same in real time, also while a test runs in virtual time, in which many seconds pass at once. */
export async function untilForReal(what: string, probe: () => boolean, deadline = 60_000): Promise<void> {
  const end = process.hrtime.bigint() + BigInt(deadline) * 1_000_000n;
  while (!probe()) {
    if (process.hrtime.bigint() > end)
      throw new Error(`timed out after ${deadline} ms waiting until ${what}`);
    await elapseForReal(5);
  }
}

/** A promise that the test resolves. */
export function gate(): { readonly closed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => (open = resolve));
  return { closed, open };
}

/** The next matching event. Call it before the action that causes the event. */
export function next<E, F extends E>(
  events: Observable<E>,
  fits: (event: E) => event is F,
  ms?: number,
): Promise<F>;
export function next<E>(events: Observable<E>, fits: (event: E) => boolean, ms?: number): Promise<E>;
export function next<E>(events: Observable<E>, fits: (event: E) => boolean, ms = 10_000): Promise<E> {
  return within(ms, 'an event', firstValueFrom(events.pipe(filter(fits))));
}

/** The state of a promise once all pending microtasks and immediates have run. */
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

/** The error with which `promise` rejects; throws if it does not. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`expected a rejection, got ${String(value)}`);
}

/** Blocks the event loop, like a long synchronous computation. */
export function blockEventLoop(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}
