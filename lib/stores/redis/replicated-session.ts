import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type ReleaseReply,
  type ReserveReply,
  type ReserveRequest,
} from '../port/lock-store.js';
import { Turns } from '../port/turns.js';
import { RedisSession } from './redis-session.js';

/**
 * Counts grants, renewals and reservations only when enough replicas have them, so that a failover to one of
 * those replicas keeps the lock. Cancels a grant that does not reach them in time.
 */
export class ReplicatedSession extends RedisSession {
  /** The keys that owners wait for. */
  private readonly waiting = new Map<OwnerId, string>();
  /** One request at a time for an owner: one must not cancel what the other has just confirmed. */
  private readonly turns = new Turns<OwnerId>();

  override async acquire(request: AcquireRequest): Promise<AcquireReply> {
    if (this.usedUp.has(request.owner)) return { outcome: 'cancelled' };
    return await this.turns.run(request.owner, () => this.askAndConfirm(request));
  }

  override release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.waiting.delete(request.owner);
    this.usedUp.delete(request.owner);
    return super.release(request);
  }

  override async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const connection = this.link.count;
    const reply = await super.reserve(request);
    if (reply.outcome === 'reserved') await this.confirm(connection);
    return reply;
  }

  protected override forgetMoved(concerns: (key: string) => boolean): boolean {
    for (const [owner, key] of this.waiting) if (!concerns(key)) this.waiting.delete(owner);
    return super.forgetMoved(concerns);
  }

  protected override granted(owner: OwnerId, grant: PushedGrant): void {
    void this.turns.run(owner, () => this.confirmPushed(owner, grant));
  }

  protected override broken(owner: OwnerId): void {
    // After the grant that was broken, which may still wait for replicas.
    void this.turns.run(owner, () => {
      super.broken(owner);
      return Promise.resolve();
    });
  }

  private async askAndConfirm(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner, wait } = request;
    const isKnown = this.waiting.has(owner);
    if (wait) this.waiting.set(owner, key);
    const connection = this.link.count;
    let reply: AcquireReply;
    try {
      reply = await super.acquire(request);
    } catch (error) {
      // It is in no queue, and no cancel will follow.
      if (!isKnown && error instanceof LockStoreError && !error.inDoubt) this.waiting.delete(owner);
      throw error;
    }
    if (reply.outcome === 'granted') {
      this.waiting.delete(owner);
      await this.confirmGrant(key, owner, connection);
    }
    return reply;
  }

  private async confirmPushed(owner: OwnerId, grant: PushedGrant): Promise<void> {
    const key = this.waiting.get(owner);
    if (key === undefined) return;
    const connection = this.link.count;
    try {
      // The grant was written by another connection. `WAIT` covers it after a write on this one: a token is reserved.
      const { outcome } = await super.reserve({ key, owner, lease: 0, tokens: 1 });
      if (outcome !== 'reserved') return;
      await this.confirmGrant(key, owner, connection);
    } catch {
      // The engine polls, and then learns why it does not have the lock.
      return;
    }
    if (this.waiting.delete(owner)) this.client.granted(owner, grant);
  }

  private async confirmGrant(key: string, owner: OwnerId, connection: number): Promise<void> {
    await this.confirmOrCancel(connection, owner, () =>
      this.cancel({ key, owner, wasGranted: false, inDoubt: false }),
    );
  }
}
