import type { Clock, MonotonicMs } from './clock.js';
import { detachedContext } from './detached-context.js';
import { CallsInFlight, Deferred, whenReplied } from './deferred.js';
import type { TimerQueue } from './timer-queue.js';

const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;
/** How long the caller of `run` waits for further attempts, ms. */
const MAX_CALLER_WAIT = 500;

/** A request that is tried until it succeeds. */
export interface RepeatedRequest<T> {
  /** @param inDoubt whether an earlier attempt failed in doubt */
  attempt(inDoubt: boolean): PromiseLike<T>;
  /** When retrying becomes useless; called after the first failure. */
  until(): MonotonicMs;
  /** ms between attempts; by default they grow, see {@link pauseBefore}. */
  readonly pause?: number;
}

/** A request whose caller waits only for the first attempts. */
export interface RetriedRequest<T, R> extends RepeatedRequest<T> {
  /** Called once, when the store has replied; returns the caller's result, which comes too late after `MAX_CALLER_WAIT`. */
  replied(reply: T): R;
  /** The caller's result if there is no reply in time. */
  readonly withoutReply: R;
}

/** Exponential pause before attempt number `attempt` (from 0), with jitter so that many processes spread out. */
export function pauseBefore(attempt: number): number {
  const ceiling = Math.min(FIRST_PAUSE * 2 ** attempt, LONGEST_PAUSE);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

/**
 * Requests that must succeed, such as a release whose reply was lost: retried in the background until they
 * succeed, their time has passed, or retries are stopped.
 */
export class BackgroundRetry {
  private readonly running = new Set<Promise<unknown>>();
  /** They end the pauses between attempts. */
  private readonly pauses = new Set<() => void>();
  private stopped = false;
  /** Pending first attempts; counted, since nearly all of them succeed. */
  private readonly firsts = new CallsInFlight();
  /** How often `retryNow` was called. */
  private resumptions = 0;

  /** @param isInDoubt whether a request that failed with this error may have been carried out */
  constructor(
    private readonly clock: Pick<Clock, 'monotonic'>,
    private readonly timers: TimerQueue,
    private readonly isInDoubt: (error: unknown) => boolean,
  ) {}

  /**
   * Resolves with the result of the first attempt, or of one shortly after; if there was no reply, further attempts
   * continue in the background.
   */
  run<T, R>(request: RetriedRequest<T, R>): Deferred<R> {
    const result = new Deferred<R>();
    this.firsts.begin();
    whenReplied(
      request.attempt(false),
      (reply) => {
        this.firsts.end();
        result.resolve(request.replied(reply));
      },
      (error) => {
        // The attempts may continue after the caller's request has ended, so they must not run in its context.
        const repeated = detachedContext.run(() => this.track(this.repeat(request, this.isInDoubt(error))));
        this.firsts.end();
        const late = repeated.then((reply) => {
          if (reply !== undefined) result.resolve(request.replied(reply));
        });
        void this.timers.within(MAX_CALLER_WAIT, late).then(() => {
          result.resolve(request.withoutReply);
        });
      },
    );
    return result;
  }

  /** Resolves with the reply, however many attempts it takes; with undefined if retries end without one. */
  complete<T>(request: RepeatedRequest<T>): Promise<T | undefined> {
    return this.track(
      new Promise<T | undefined>((resolve) => {
        whenReplied(request.attempt(false), resolve, (error) => {
          resolve(this.repeat(request, this.isInDoubt(error)));
        });
      }),
    );
  }

  /** Like `complete`, with a pause before the first attempt. */
  completeLater<T>(request: RepeatedRequest<T>): Promise<T | undefined> {
    return this.track(this.repeat(request, false));
  }

  /** Resolves when no first attempt is pending. */
  firstsDone(): Promise<void> {
    return this.firsts.ended();
  }

  /** Resolves when nothing is pending. */
  async idle(): Promise<void> {
    while (this.firsts.size > 0 || this.running.size > 0) {
      await Promise.allSettled(this.running);
      await this.firstsDone();
    }
  }

  /** Ends all pauses at once: the store is reachable again. */
  retryNow(): void {
    this.resumptions += 1;
    if (this.pauses.size === 0) return;
    detachedContext.run(() => {
      for (const wake of [...this.pauses]) wake();
    });
  }

  /** Repeats pausing requests once more, and nothing after that. Returns whether there were any. */
  stop(): boolean {
    const isAnyLeft = this.pauses.size > 0;
    this.retryNow();
    this.stopped = true;
    return isAnyLeft;
  }

  /** Makes `idle` wait for the work. */
  track<T>(work: Promise<T>): Promise<T> {
    this.running.add(work);
    const done = (): void => {
      this.running.delete(work);
    };
    work.then(done, done);
    return work;
  }

  /** Calls back after a pause between attempts, or when the store is back. */
  callAfter(ms: number, done: () => void): void {
    const wake = (): void => {
      this.timers.clear(timer);
      this.pauses.delete(wake);
      done();
    };
    const timer = this.timers.after(ms, wake);
    this.pauses.add(wake);
  }

  private repeat<T>(request: RepeatedRequest<T>, inDoubtBefore: boolean): Promise<T | undefined> {
    const until = request.until();
    return new Promise((resolve) => {
      let inDoubt = inDoubtBefore;
      let failures = 0;
      const tryAgain = (): void => {
        if (this.isUseless(until)) {
          resolve(undefined);
          return;
        }
        const { resumptions } = this;
        whenReplied(request.attempt(inDoubt), resolve, (error) => {
          inDoubt ||= this.isInDoubt(error);
          failures += 1;
          // It was sent before the store was reachable again.
          if (resumptions !== this.resumptions) tryAgain();
          else pause();
        });
      };
      const pause = (): void => {
        if (this.isUseless(until)) resolve(undefined);
        else this.callAfter(request.pause ?? pauseBefore(failures), tryAgain);
      };
      pause();
    });
  }

  private isUseless(until: MonotonicMs): boolean {
    return this.stopped || this.clock.monotonic() >= until;
  }
}
