import type { BackgroundRetry } from '../../common/background-retry.js';
import type { MonotonicMs } from '../../common/clock.js';
import {
  LockStoreError,
  type AskRequest,
  type LockStoreSession,
  type OwnerId,
  type OwnerRequest,
} from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { RETRY_PAUSE } from './circuit-breaker.js';

/** What the store may know of owners that hold no lock there, and what it is still to be told of them. */
export class StoredOwners {
  /** Owners that may have a place in the store's queue, or a grant that nobody has heard of. */
  private readonly asking = new Map<OwnerId, AskRequest>();
  /** Owners that asked twice, and whose first request may still be under way. */
  private readonly inDoubt = new Set<OwnerId>();
  /** The keys of owners to be cancelled there, as they are served in this process by now. */
  private readonly cancelled = new Map<OwnerId, string>();
  private isCancelling = false;

  /** @param isAway whether the store is done without, so that it is told nothing for now */
  constructor(
    private readonly store: LockStoreSession,
    private readonly retry: BackgroundRetry,
    private readonly isAway: () => boolean,
  ) {}

  /** To be told before the request is sent: a grant can be pushed before the reply is here. Whether the owner is new there. */
  onAsk(request: AskRequest): boolean {
    const isNew = !this.asking.has(request.owner);
    this.asking.set(request.owner, request);
    return isNew;
  }

  /** What the owner asked for last; undefined if the store has nothing for it. */
  requestOf(owner: OwnerId): AskRequest | undefined {
    return this.asking.get(owner);
  }

  /** It has been told of its grant, or has nothing there. */
  forget(owner: OwnerId): void {
    this.asking.delete(owner);
  }

  /** It asks again though its first request may still be under way. */
  onDoubt(owner: OwnerId): void {
    this.inDoubt.add(owner);
  }

  isInDoubt(owner: OwnerId): boolean {
    return this.inDoubt.has(owner);
  }

  /** What the failure of the second request says of both. */
  failureOf(owner: OwnerId, error: unknown): unknown {
    if (!this.isInDoubt(owner) || !(error instanceof LockStoreError) || error.inDoubt) return error;
    const { message, retryable, unreachable } = error;
    return new LockStoreError(message, { inDoubt: true, retryable, unreachable, cause: error });
  }

  /**
   * Cancels or releases the owner in the store. The engine has heard of a second request only, so the store is told here
   * that the first may come late (P32).
   */
  end<T>(request: OwnerRequest, send: (request: OwnerRequest) => PromiseLike<T>): PromiseLike<T> {
    const { key, owner } = request;
    if (!this.isInDoubt(owner)) return send(request);
    return send({ ...request, inDoubt: true }).then(
      (reply) => {
        this.inDoubt.delete(owner);
        return reply;
      },
      (error: unknown) => {
        this.cancel(owner, key);
        throw error;
      },
    );
  }

  /** Nobody uses what the owner may have there: it is cancelled until the store confirms, now or when the store is back. */
  cancel(owner: OwnerId, key: string): void {
    this.forget(owner);
    this.inDoubt.delete(owner);
    this.cancelled.set(owner, key);
    if (!this.isAway()) this.sendCancels();
  }

  /** The store can be reached: cancels now, and once a second until all are confirmed. */
  sendCancels(): void {
    if (this.cancelled.size === 0) return;
    if (this.isCancelling) {
      this.retry.retryNow();
      return;
    }
    this.isCancelling = true;
    const attempt = async (): Promise<void> => {
      await this.sendCancelsOnce();
      if (this.cancelled.size > 0) throw new Error('some were not confirmed');
    };
    const until = Infinity as MonotonicMs;
    void this.retry.complete({ attempt, until: () => until, pause: RETRY_PAUSE }).then(() => {
      this.isCancelling = false;
    });
  }

  async sendCancelsOnce(): Promise<void> {
    await Promise.all(
      [...this.cancelled].map(async ([owner, key]) => {
        try {
          await this.store.cancel({ key, owner, inDoubt: true });
        } catch (error) {
          // Asking again for ever is for what can get through.
          if (storeFailure(error).retryable) return;
        }
        this.cancelled.delete(owner);
      }),
    );
  }
}
