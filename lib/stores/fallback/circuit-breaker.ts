import type { BackgroundRetry } from '../../common/background-retry.js';
import { LockStoreError, type LockStoreSession, type MonotonicMs } from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';

/** How long after one attempt to reach the store the next one follows, ms. */
export const RETRY_PAUSE = 1_000;
/** A connection that was cut is back in less, ms; only a store that is away for longer is done without. */
const MIN_GRACE_TIME = 100;
/** How many round trips it takes to connect: to open the connection, to encrypt it, to sign in and to be ready. */
export const CONNECT_ROUND_TRIPS = 4;
/** However far the store is, ms. */
const MAX_GRACE_TIME = 1_000;
/** What the store is asked about when no request has failed yet. */
export const NO_KEY = 'is anybody there';

export function isUnreachable(error: unknown): error is LockStoreError {
  return error instanceof LockStoreError && error.unreachable;
}

/** Decides when the store is done without, and finds out when it is back. While it is open, locks are taken locally. */
export class CircuitBreaker {
  private isTripped = false;
  private isStopped = false;
  /** Since when it is known that a request failed, if none has succeeded since. */
  private failingSince: MonotonicMs | undefined;
  private key = NO_KEY;
  /** The fastest reply so far, ms: how far away the store is. */
  private roundTrip: number | undefined;
  /** End the waits of those who give the store time to come back. */
  private readonly graceWaits = new Set<() => void>();

  /**
   * @param now the monotonic clock
   * @param onOpen locks are taken in this process from now on
   * @param onClose the store replies again
   */
  constructor(
    private readonly store: LockStoreSession,
    private readonly now: () => MonotonicMs,
    private readonly retry: BackgroundRetry,
    private readonly onOpen: (cause: LockStoreError) => void,
    private readonly onClose: () => void,
  ) {}

  /** Whether locks are taken in this process. */
  get isOpen(): boolean {
    return this.isTripped;
  }

  /** The store has replied to a request that was sent at that time, or to the last of so many after each other. */
  onReply(sentAt: MonotonicMs, roundTrips = 1): void {
    this.failingSince = undefined;
    this.roundTrip = Math.min(this.roundTrip ?? Infinity, (this.now() - sentAt) / roundTrips);
  }

  /** The connection is there again, as far as the store's session can tell. Answers whether the store is in use. */
  onReconnect(): boolean {
    this.failingSince = undefined;
    this.endGraceWaits();
    if (this.isTripped) this.retry.retryNow();
    return !this.isTripped;
  }

  /**
   * A request for a lock met a store that is away. One such failure does not open the circuit, for the engine asks
   * again, and neither do the others that were under way with it.
   *
   * @param isLastTry whether nobody will ask again
   */
  onFailure(cause: LockStoreError, key: string, sentAt: MonotonicMs, isLastTry: boolean): void {
    if (this.isTripped || this.isStopped) return;
    const now = this.now();
    this.failingSince ??= now;
    if (isLastTry || (sentAt >= this.failingSince && now >= this.failingSince + this.graceTime))
      this.open(cause, key);
  }

  /**
   * Makes a request that is about nobody's lock. Whoever only looks finds out that the store is away, too: the health check of
   * an application that takes no locks.
   */
  async watched<T>(key: string, request: () => Promise<T>): Promise<T> {
    const sentAt = this.now();
    try {
      const reply = await request();
      this.onReply(sentAt);
      return reply;
    } catch (error) {
      if (isUnreachable(error)) this.onFailure(error, key, sentAt, false);
      throw error;
    }
  }

  open(cause: LockStoreError, key = NO_KEY): void {
    this.isTripped = true;
    this.key = key;
    this.endGraceWaits();
    const until = Infinity as MonotonicMs;
    void this.retry.completeLater({ attempt: () => this.probe(), until: () => until, pause: RETRY_PAUSE });
    this.onOpen(cause);
  }

  /** Resolves when it is time to try once more. */
  async waitForRecovery(): Promise<void> {
    if (this.isStopped) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        this.graceWaits.delete(end);
        resolve();
      };
      const timer = setTimeout(end, this.graceTime);
      this.graceWaits.add(end);
    });
  }

  stop(): void {
    this.isStopped = true;
    this.endGraceWaits();
  }

  private get graceTime(): number {
    return Math.min(MIN_GRACE_TIME + CONNECT_ROUND_TRIPS * (this.roundTrip ?? 0), MAX_GRACE_TIME);
  }

  private endGraceWaits(): void {
    for (const end of this.graceWaits) end();
  }

  /**
   * Rejects if the store is still away. It is asked about the key that could not be had: of a store of several parts
   * another may be there.
   */
  private async probe(): Promise<void> {
    if (!this.isTripped) return;
    try {
      await this.store.inspect(this.key);
    } catch (error) {
      // A refusal is a reply, too.
      if (!(error instanceof LockStoreError) || error.unreachable) throw storeFailure(error);
    }
    if (this.isStopped) return;
    this.isTripped = false;
    this.failingSince = undefined;
    this.onClose();
  }
}
