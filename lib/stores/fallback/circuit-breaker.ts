import { LockStoreError, type LockStoreSession, type MonotonicMs } from '../port/lock-store.js';
import { Repetition } from './repetition.js';

/** A connection that was cut is back in less, ms; only a store that is away for longer is done without. */
const GRACE = 100;
/** Far from the store it takes so many ways there and back more: to connect, to encrypt, to sign in and to be ready. */
export const WAYS = 4;
/** However far it is, ms. */
const LONGEST_GRACE = 1_000;
/** What the store is asked about when no request has failed yet. */
const NO_KEY = 'is anybody there';

export function isUnreachable(error: unknown): error is LockStoreError {
  return error instanceof LockStoreError && error.unreachable;
}

/** When the store is done without, and when it is asked again. */
export class CircuitBreaker {
  private isLocal = false;
  private isOver = false;
  /** Since when it is known that a request failed, if none has succeeded since. */
  private failingSince: MonotonicMs | undefined;
  private key = NO_KEY;
  /** The fastest answer so far, ms: how far away the store is. */
  private way: number | undefined;
  private readonly probe = new Repetition(() => this.look());
  /** Those who give the store time to come back. */
  private readonly patient = new Set<() => void>();

  /**
   * @param now the monotonic clock
   * @param begun locks are taken in this process from now on
   * @param ended the store answers again
   */
  constructor(
    private readonly store: LockStoreSession,
    private readonly now: () => MonotonicMs,
    private readonly begun: (cause: LockStoreError) => void,
    private readonly ended: () => void,
  ) {}

  /** Whether locks are taken in this process. */
  get isOn(): boolean {
    return this.isLocal;
  }

  /** The store has answered a request that was sent at that time, or the last of so many after each other. */
  answered(sentAt: MonotonicMs, ways = 1): void {
    this.failingSince = undefined;
    this.way = Math.min(this.way ?? Infinity, (this.now() - sentAt) / ways);
  }

  /** The connection is there again, as far as the store's session can tell. Answers whether the store is in use. */
  reconnected(): boolean {
    this.failingSince = undefined;
    this.hurry();
    if (this.isLocal) void this.probe.now();
    return !this.isLocal;
  }

  /**
   * A request for a lock met a store that is away. One such failure is no outage, for the engine asks again, and
   * neither are the others that were under way with it.
   *
   * @param isLastTry whether nobody will ask again
   */
  met(cause: LockStoreError, key: string, sentAt: MonotonicMs, isLastTry: boolean): void {
    if (this.isLocal || this.isOver) return;
    const now = this.now();
    this.failingSince ??= now;
    if (isLastTry || (sentAt >= this.failingSince && now >= this.failingSince + this.graceTime))
      this.begin(cause, key);
  }

  begin(cause: LockStoreError, key = NO_KEY): void {
    this.isLocal = true;
    this.key = key;
    this.hurry();
    this.probe.later();
    this.begun(cause);
  }

  /** Resolves when it is time to try once more. */
  async grace(): Promise<void> {
    if (this.isOver) return;
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        clearTimeout(timer);
        this.patient.delete(goOn);
        resolve();
      };
      const timer = setTimeout(goOn, this.graceTime);
      this.patient.add(goOn);
    });
  }

  stop(): void {
    this.isOver = true;
    this.hurry();
    this.probe.stop();
  }

  private get graceTime(): number {
    return Math.min(GRACE + WAYS * (this.way ?? 0), LONGEST_GRACE);
  }

  private hurry(): void {
    for (const goOn of this.patient) goOn();
  }

  /** Asks about the key that could not be had: of a store of several parts another may be there. */
  private async look(): Promise<boolean> {
    if (!this.isLocal) return true;
    try {
      await this.store.inspect(this.key);
    } catch (error) {
      // A refusal is an answer, too.
      if (!(error instanceof LockStoreError) || error.unreachable) return false;
    }
    if (this.isOver) return true;
    this.isLocal = false;
    this.failingSince = undefined;
    this.ended();
    return true;
  }
}
