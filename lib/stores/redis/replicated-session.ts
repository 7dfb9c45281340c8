import { inMs } from '../../common/durations.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import { checkNames, checkObject, shown } from '../../model/option-checks.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type LockStoreClient,
  type OwnerId,
  type OwnerRequest,
  type PushedGrant,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
} from '../port/lock-store.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import { requestTimeoutFor } from '../port/times.js';
import { Turns } from '../port/turns.js';
import type { ServerConnector } from './connection/redis-connection.js';
import { RedisSession, type ClusterPart } from './redis-session.js';
import type { KeyNames } from './scripts/key-names.js';

/** How many replicas must have a grant before it counts. */
export interface ReplicaOptions {
  /** At least this many, from 1 to 100. */
  readonly min: number;
  /**
   * How long to wait for them, ms: from 1 to a twelfth of `watchdogTimeout`, at most 1 000. The connection carries no
   * other request meanwhile.
   *
   * @default 500, or the upper bound if that is less
   */
  readonly timeout?: number | undefined;
}

export interface Replicas {
  readonly min: number;
  /** ms */
  readonly timeout: number;
}

/** @throws LockOptionsError */
export function resolveReplicas(where: string, options: unknown, watchdogTimeout: number): Replicas {
  checkNames(where, checkObject(where, options), new Set(['min', 'timeout']));
  const { min, timeout } = options as ReplicaOptions; // its names were checked, its values are next
  if (!Number.isInteger(min) || min < 1 || min > 100) {
    throw new LockOptionsError(`${where}.min must be a number of replicas from 1 to 100; got ${shown(min)}.`);
  }
  // Half of the request timeout, so that a connection that waits for replicas is not closed as one that hangs.
  const longest = Math.floor(requestTimeoutFor(watchdogTimeout) / 2);
  if (timeout === undefined) return { min, timeout: Math.min(500, longest) };
  if (!Number.isInteger(timeout) || timeout < 1 || timeout > longest) {
    throw new LockOptionsError(
      `${where}.timeout must be a whole number of milliseconds from 1 to ${String(longest)} with a watchdogTimeout of ` +
        `${String(watchdogTimeout)}; got ${shown(timeout)}.`,
    );
  }
  return { min, timeout };
}

/**
 * Counts grants, renewals and reservations only when enough replicas have them, so that a failover to one of
 * those replicas keeps the lock. Cancels a grant that does not reach them in time.
 */
export class ReplicatedSession extends RedisSession {
  /** The keys that owners wait for. */
  private readonly waiting = new Map<OwnerId, string>();
  /** One request at a time for an owner: one must not cancel what the other has just confirmed. */
  private readonly turns = new Turns<OwnerId>();

  constructor(
    connector: ServerConnector,
    names: KeyNames,
    client: LockStoreClient,
    private readonly confirmedBy: Replicas,
    cluster?: ClusterPart,
  ) {
    super(connector, names, client, confirmedBy.min, cluster);
  }

  override async acquire(request: AcquireRequest): Promise<AcquireReply> {
    return await this.turns.run(request.owner, () => this.askAndConfirm(request));
  }

  override async cancel(request: OwnerRequest): Promise<void> {
    this.waiting.delete(request.owner);
    await super.cancel(request);
  }

  override release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.waiting.delete(request.owner);
    return super.release(request);
  }

  override async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.confirmRenewals(() => super.renew(requests));
  }

  override async renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return await this.confirmRenewals(() => super.renewAsking(requests));
  }

  override async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const connection = this.link.count;
    const reply = await super.reserve(request);
    if (reply.outcome === 'reserved') await this.confirm(connection);
    return reply;
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
      await this.confirmOrCancel(key, owner, connection);
    }
    return reply;
  }

  private async confirmRenewals(renew: () => Promise<RenewReplies>): Promise<RenewReplies> {
    const connection = this.link.count;
    const replies = await renew();
    if (!replies.includes('renewed')) return replies;
    try {
      await this.confirm(connection);
      return replies;
    } catch (error) {
      if (!(error instanceof LockStoreError)) throw error;
      return replies.map((reply) => (reply === 'renewed' ? error : reply));
    }
  }

  private async confirmPushed(owner: OwnerId, grant: PushedGrant): Promise<void> {
    const key = this.waiting.get(owner);
    if (key === undefined) return;
    const connection = this.link.count;
    try {
      // The grant was written by another connection. `WAIT` covers it once it is rewritten on this one.
      const isHeld = await this.pipeline.send(this.calls.touch(key, owner));
      if (!isHeld) return;
      await this.confirmOrCancel(key, owner, connection);
    } catch {
      // The engine polls, and then learns why it does not have the lock.
      return;
    }
    if (this.waiting.delete(owner)) this.client.granted(owner, grant);
  }

  private async confirmOrCancel(key: string, owner: OwnerId, connection: number): Promise<void> {
    try {
      await this.confirm(connection);
    } catch (error) {
      const isCancelled = await super.cancel({ key, owner, inDoubt: false }).then(
        () => true,
        () => false,
      );
      const { message } = error as Error;
      throw new LockStoreError(message, { inDoubt: !isCancelled, retryable: true, cause: error });
    }
  }

  /** @param connection the connection that carried the write: `WAIT` covers only writes of its own connection */
  private async confirm(connection: number): Promise<void> {
    const { min, timeout } = this.confirmedBy;
    const confirmed = await this.link.do((redis) => redis.wait(min, timeout));
    if (this.link.count !== connection) {
      throw new LockStoreError('the connection to Redis was lost before its replicas had confirmed', {
        inDoubt: true,
        retryable: true,
      });
    }
    if (confirmed >= min) return;
    throw new LockStoreError(
      `only ${String(confirmed)} of the ${String(min)} replicas required by replicas.min confirmed within ` +
        inMs(timeout),
      { inDoubt: false, retryable: true },
    );
  }
}
