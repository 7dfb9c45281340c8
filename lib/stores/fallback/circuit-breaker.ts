import type { BackgroundRetry } from '../../common/background-retry.js';
import { LockStoreError, type LockStoreSession, type MonotonicMs } from '../port/lock-store.js';
import { PROBE_KEY } from '../port/forwarding-session.js';
import { storeFailure } from '../port/store-failure.js';

/** ms between attempts to reach the store. */
export const RETRY_PAUSE = 1_000;
/** A lost connection usually recovers faster, ms; only a longer outage opens the circuit. */
const MIN_GRACE_TIME = 100;
/** The round trips needed to connect: TCP, TLS, authentication and setup. */
export const CONNECT_ROUND_TRIPS = 4;
/** The limit for distant stores, ms. */
const MAX_GRACE_TIME = 1_000;

export function isUnreachable(error: unknown): error is LockStoreError {
  return error instanceof LockStoreError && error.unreachable;
}

/** Rejects if the store is unreachable. A rejected request is a reply, too. */
async function repliedTo(request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!(error instanceof LockStoreError) || error.unreachable) throw storeFailure(error);
  }
}

/** Opens when the store is unreachable, and closes when it is back. While it is open, locks are acquired locally. */
export class CircuitBreaker {
  /** Whether locks are acquired in this process. */
  isOpen = false;
  private isStopped = false;
  /** When the first failure became known after the last success. */
  private failingSince: MonotonicMs | undefined;
  private key = PROBE_KEY;
  /** The fastest reply so far, ms: the distance of the store. */
  private roundTrip: number | undefined;

  /**
   * @param now the monotonic clock
   * @param onOpen locks are acquired in this process from now on
   * @param onClose the store replies again
   * @param prepare prepares the store for that; rejects if it has to be repeated
   */
  constructor(
    private readonly store: LockStoreSession,
    private readonly now: () => MonotonicMs,
    private readonly retry: BackgroundRetry,
    private readonly onOpen: (cause: LockStoreError) => void,
    private readonly onClose: () => void,
    private readonly prepare: () => Promise<void>,
  ) {}

  /** The store has replied to a request sent at this time, or to the last of `roundTrips` consecutive ones. */
  onReply(sentAt: MonotonicMs, roundTrips = 1): void {
    this.failingSince = undefined;
    this.roundTrip = Math.min(this.roundTrip ?? Infinity, (this.now() - sentAt) / roundTrips);
  }

  /** The store's session reports that the connection is back. Returns whether the store is in use. */
  onReconnect(): boolean {
    this.failingSince = undefined;
    this.retry.retryNow();
    return !this.isOpen;
  }

  /**
   * A request failed because the store is unreachable. A single failure does not open the circuit, since the engine
   * retries, and neither do concurrent failures of other requests.
   *
   * @param isLastTry whether the request is not retried
   */
  onFailure(cause: LockStoreError, key: string, sentAt: MonotonicMs, isLastTry: boolean): void {
    if (this.isOpen || this.isStopped) return;
    const now = this.now();
    this.failingSince ??= now;
    if (isLastTry || (sentAt >= this.failingSince && now >= this.failingSince + this.graceTime))
      this.open(cause, key);
  }

  /**
   * Makes a request that only reads. Its failures count too: the health check of an application that acquires no locks
   * has to notice an outage.
   */
  async watched<T>(key: string, request: () => Promise<T>, isLastTry = false): Promise<T> {
    const sentAt = this.now();
    try {
      const reply = await request();
      this.onReply(sentAt);
      return reply;
    } catch (error) {
      if (isUnreachable(error)) this.onFailure(error, key, sentAt, isLastTry);
      throw error;
    }
  }

  open(cause: LockStoreError, key = PROBE_KEY): void {
    this.isOpen = true;
    this.key = key;
    // Nobody needs to wait for its recovery any longer.
    this.retry.retryNow();
    const until = Infinity as MonotonicMs;
    void this.retry.completeLater({ attempt: () => this.probe(), until: () => until, pause: RETRY_PAUSE });
    this.onOpen(cause);
  }

  /** Gives the store time to recover, and checks whether it has. If not, the breaker is open. */
  async hasRecovered(key: string): Promise<boolean> {
    if (this.isStopped) return !this.isOpen;
    await new Promise<void>((resolve) => this.retry.callAfter(this.graceTime, resolve));
    if (!this.isOpen) await this.watched(key, () => this.store.inspect(key), true).catch(() => undefined);
    return !this.isOpen;
  }

  /** Nothing opens it any more. The retries are to be stopped as well. */
  stop(): void {
    this.isStopped = true;
  }

  private get graceTime(): number {
    return Math.min(MIN_GRACE_TIME + CONNECT_ROUND_TRIPS * (this.roundTrip ?? 0), MAX_GRACE_TIME);
  }

  /**
   * Rejects if the store is still unreachable. Inspects the key whose request failed: other parts of the store may be
   * reachable.
   */
  private async probe(): Promise<void> {
    if (!this.isOpen) return;
    await repliedTo(() => this.store.inspect(this.key));
    await this.prepare();
    if (this.isStopped) return;
    this.isOpen = false;
    this.failingSince = undefined;
    this.onClose();
  }
}
