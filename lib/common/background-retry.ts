import { later, type Clock, type MonotonicMs } from './clock.js';
import { detachedContext } from './detached-context.js';
import { Deferred, whenReplied } from './deferred.js';
import { CallbackTimer, type TimerQueue } from './timer-queue.js';

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
  /** The caller's result: for a reply, or for none in time. A reply that comes later calls it again, and changes no result. */
  resultOf(reply: T | undefined): R;
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
  /** They end the waits of callers. A store that is back does not end them, since a reply is about to arrive. */
  private readonly waits = new Set<() => void>();
  private stopped = false;
  /** Pending first attempts; counted, since nearly all of them succeed. */
  private first = 0;
  private onFirstsDone: (() => void) | undefined;
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
    this.first += 1;
    whenReplied(
      this.attempt(request, false),
      (reply) => {
        this.firstDone();
        result.resolve(request.resultOf(reply));
      },
      (error) => {
        // The attempts may continue after the caller's request has ended, so they must not run in its context.
        const repeated = detachedContext.run(() => this.track(this.repeat(request, this.isInDoubt(error))));
        this.firstDone();
        // Also called for a reply that comes too late for the caller, since that may show a loss.
        const late = repeated.then((reply) => request.resultOf(reply));
        void this.withinCallerWait(late).then((outcome) => {
          result.resolve(outcome ?? request.resultOf(undefined));
        });
      },
    );
    return result;
  }

  /** Resolves with the reply, however many attempts it takes; with undefined if retries end without one. */
  complete<T>(request: RepeatedRequest<T>): Promise<T | undefined> {
    return this.track(
      new Promise<T | undefined>((resolve) => {
        whenReplied(this.attempt(request, false), resolve, (error) => {
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
  async firstsDone(): Promise<void> {
    while (this.first > 0) {
      await new Promise<void>((resolve) => {
        this.onFirstsDone = resolve;
      });
    }
  }

  /** Resolves when nothing is pending. */
  async idle(): Promise<void> {
    while (this.first > 0 || this.running.size > 0) {
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
    for (const wake of [...this.waits]) wake();
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

  /** Calls back after a pause between attempts, or when the store is back. Returns a function that ends the pause. */
  callAfter(ms: number, done: () => void, among = this.pauses): () => void {
    const wake = (): void => {
      this.timers.clear(timer);
      among.delete(wake);
      done();
    };
    const timer = new CallbackTimer(wake);
    among.add(wake);
    this.timers.set(timer, later(this.clock.monotonic(), ms));
    return wake;
  }

  /** A custom store may throw instead of reject. */
  private attempt<T>(request: RepeatedRequest<T>, inDoubt: boolean): PromiseLike<T> {
    try {
      return request.attempt(inDoubt);
    } catch (error) {
      const failed = new Deferred<T>();
      failed.reject(error);
      return failed;
    }
  }

  private firstDone(): void {
    this.first -= 1;
    if (this.first === 0) this.onFirstsDone?.();
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
        whenReplied(this.attempt(request, inDoubt), resolve, (error) => {
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

  /** The result of `work` within the time that a caller waits. */
  private async withinCallerWait<T>(work: Promise<T>): Promise<T | undefined> {
    const timeout = new Promise<undefined>((resolve) => {
      this.callAfter(
        MAX_CALLER_WAIT,
        () => {
          resolve(undefined);
        },
        this.waits,
      );
    });
    return await Promise.race([work, timeout]);
  }
}
