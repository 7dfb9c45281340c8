import { whenAnswered } from '../stores/port/reply.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { CallbackTimer, type TimerQueue } from './timer-queue.js';
import { later, type Clock } from './clock.js';
import { OwnContext } from './own-context.js';
import { storeFailure } from '../stores/port/store-failure.js';

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;
/** How long a caller waits for further attempts, ms. */
const PATIENCE = 500;

/** A request that must get through. */
export interface RetriedRequest<T, R> {
  /** @param inDoubt whether an earlier attempt failed in doubt */
  attempt(inDoubt: boolean): PromiseLike<T>;
  /** When trying again has become useless; asked after the first failure. */
  until(): MonotonicMs;
  /** What the caller hears: of a reply, or of none in time. */
  resultOf(reply: T | undefined): R;
}

/** Exponential pause before try number `attempt` (from 0), with jitter so that many processes spread out. */
export function pauseBefore(attempt: number): number {
  const ceiling = Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

/**
 * Requests that must get through, such as a release whose reply was lost (P33): tried again in the background until
 * they succeed, their time is over, or the engine is closed.
 */
export class BackgroundRetry {
  private readonly running = new Set<Promise<unknown>>();
  /** Between attempts. */
  private readonly pauses = new Set<() => void>();
  /** Of callers, which a store that is back does not end: what they wait for is about to come. */
  private readonly waits = new Set<() => void>();
  private readonly context = new OwnContext();
  private stopped = false;
  /** First attempts under way; counted, since nearly all of them succeed. */
  private first = 0;
  private onFirstsDone: (() => void) | undefined;

  constructor(
    private readonly clock: Clock,
    private readonly timers: TimerQueue,
  ) {}

  /**
   * Resolves with what came of the first attempt, or of one shortly after; if there was no answer, further attempts go
   * on in the background.
   */
  run<T, R>(request: RetriedRequest<T, R>): Promise<R> {
    this.first += 1;
    return new Promise<R>((resolve) => {
      whenAnswered(
        this.begin(request),
        (reply) => {
          this.firstDone();
          resolve(request.resultOf(reply));
        },
        (error) => {
          const { inDoubt } = storeFailure(error);
          // It may outlast the request that it was for.
          const repeated = this.context.run(() => this.track(this.repeat(request, inDoubt)));
          this.firstDone();
          resolve(this.soon(repeated).then((reply) => request.resultOf(reply)));
        },
      );
    });
  }

  /** A store of the user's may throw instead of reject. */
  private begin<T>(request: RetriedRequest<T, unknown>): PromiseLike<T> {
    try {
      return request.attempt(false);
    } catch (error) {
      return Promise.reject(storeFailure(error));
    }
  }

  private firstDone(): void {
    this.first -= 1;
    if (this.first === 0) this.onFirstsDone?.();
  }

  /** Resolves when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.first > 0 || this.running.size > 0) {
      await Promise.allSettled(this.running);
      if (this.first === 0) continue;
      await new Promise<void>((resolve) => {
        this.onFirstsDone = resolve;
      });
    }
  }

  /** Ends all pauses at once: the store can be reached again. */
  retryNow(): void {
    for (const wake of [...this.pauses]) wake();
  }

  stop(): void {
    this.stopped = true;
    this.retryNow();
    for (const wake of [...this.waits]) wake();
  }

  private async repeat<T>(
    request: RetriedRequest<T, unknown>,
    inDoubtBefore: boolean,
  ): Promise<T | undefined> {
    const until = request.until();
    let inDoubt = inDoubtBefore;
    for (let failures = 0; !this.isUseless(until); failures += 1) {
      await this.pause(pauseBefore(failures), this.pauses);
      if (this.isUseless(until)) break;
      try {
        return await request.attempt(inDoubt);
      } catch (error) {
        inDoubt ||= storeFailure(error).inDoubt;
      }
    }
    return undefined;
  }

  private isUseless(until: MonotonicMs): boolean {
    return this.stopped || this.clock.monotonic() >= until;
  }

  /** Counts work among what `idle` waits for. */
  track<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    const done = (): void => {
      this.running.delete(work);
    };
    work.then(done, done);
    return work;
  }

  /** What `work` brings within the caller's patience. */
  private async soon<T>(work: Promise<T>): Promise<T | undefined> {
    return await Promise.race([work, this.pause(PATIENCE, this.waits).then(() => undefined)]);
  }

  private pause(ms: number, among: Set<() => void>): Promise<void> {
    return new Promise((resolve) => {
      this.callAfter(ms, resolve, among);
    });
  }

  /** Calls back after a pause between attempts, or when the store is back. The function that it answers ends the pause. */
  callAfter(ms: number, done: () => void, among = this.pauses): () => void {
    const wake = (): void => {
      this.timers.clear(reminder);
      among.delete(wake);
      done();
    };
    const reminder = new CallbackTimer(wake);
    among.add(wake);
    this.timers.set(reminder, later(this.clock.monotonic(), ms));
    return wake;
  }
}
