import type { LockStoreError, MonotonicMs } from '../port/lock-store.js';
import { failureOf } from './majority.js';
import type { Pauses } from './pauses.js';

/** For how long a member that has not confirmed a departure is told again at least, ms: as long as a tombstone. */
export const INSISTENCE = 60_000;
const FIRST_PAUSE = 20;
const LONGEST_PAUSE = 1_000;

/** The way of an owner out of one member: repeated until the member has answered. */
export class Departure<T> {
  reply: T | undefined;
  private running: Promise<T> | undefined;

  constructor(private readonly request: () => Promise<T>) {}

  get isDone(): boolean {
    return this.reply !== undefined;
  }

  /** What the member answered, or answers now. */
  attempt(): Promise<T> {
    if (this.reply !== undefined) return Promise.resolve(this.reply);
    this.running ??= this.request().then(
      (reply) => {
        this.reply = reply;
        return reply;
      },
      (error: unknown) => {
        this.running = undefined;
        throw failureOf(error);
      },
    );
    return this.running;
  }
}

/** Sees in the background to departures that a dead or slow member has not confirmed. */
export class MemberReleases {
  private readonly running = new Set<Departure<unknown>>();
  private whenIdle: (() => void) | undefined;

  constructor(
    private readonly pauses: Pauses,
    private readonly now: () => MonotonicMs,
  ) {}

  /**
   * Repeats until the member has answered, or it is no use any more; then calls `done`.
   *
   * @param lease for how long the member would keep the lock for the owner, ms
   */
  follow(departure: Departure<unknown>, lease: number, done: () => void): void {
    this.running.add(departure);
    this.attempt(departure, this.now() + Math.max(INSISTENCE, lease), done, 0);
  }

  /** Resolves when no member has to be told anything any more. */
  idle(): Promise<void> {
    if (this.running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.whenIdle = resolve;
    });
  }

  private attempt(departure: Departure<unknown>, until: number, done: () => void, failures: number): void {
    const end = (): void => {
      this.running.delete(departure);
      done();
      if (this.running.size === 0) this.whenIdle?.();
    };
    departure.attempt().then(end, (error: unknown) => {
      if (!(error as LockStoreError).retryable || this.now() >= until) {
        end();
        return;
      }
      const ceiling = Math.min(FIRST_PAUSE * 2 ** failures, LONGEST_PAUSE);
      this.pauses.after(ceiling * (0.5 + Math.random() / 2), () => {
        this.attempt(departure, until, done, failures + 1);
      });
    });
  }
}
