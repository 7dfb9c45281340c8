import { later } from '../../common/clock.js';
import { CallbackTimer, TimerQueue } from '../../common/timer-queue.js';
import type { RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type BreakReply,
  type LockStoreClient,
  type MonotonicMs,
  type NamedHold,
  type OwnerId,
  type OwnerRequest,
  type ReleaseReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoredLock,
  type StoredWaiter,
} from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import type { ServerConnector } from '../redis/connection/redis-connection.js';
import type { Rights } from '../redis/doctor/acl-rules.js';
import type { Replicas } from '../redis/replicas.js';
import { RedirectedError } from '../redis/connection/redis-failure.js';
import { ScriptBatch } from '../redis/scripts/pipeline.js';
import { ServerSession, type ClusterPart, type WholeServerSession } from '../redis/server-session.js';
import type { RedissonKeyNames } from './redisson-names.js';
import { RedissonCalls, SHORT_TURN, type OtherValue, type TakeReply } from './redisson-scripts.js';

/** The owners of this process that wait for one key, in their order. */
interface Waiters {
  readonly key: string;
  readonly channel: string;
  readonly requests: Map<OwnerId, AcquireRequest>;
  /** Whether a request for the first of them is pending, and whether a message has come since it was sent. */
  isTrying: boolean;
  isWoken: boolean;
}

/**
 * A client's locks at one server. Redisson keeps no queue: a waiter subscribes to the lock's channel, and requests again
 * after each message there.
 */
export class RedissonSession extends ServerSession implements WholeServerSession {
  private readonly calls: RedissonCalls;
  private readonly takes: ScriptBatch<AcquireRequest, TakeReply, TakeReply>;
  private readonly reserves: ScriptBatch<ReserveRequest, ReserveReply, ReserveReply>;
  private readonly releases: ScriptBatch<OwnerRequest, ReleaseReply, ReleaseReply>;
  private readonly waiters = new Map<string, Waiters>();
  /** The key that waits for the messages of each channel. */
  private readonly channels = new Map<string, string>();
  /** When the turns of owners began while others waited. */
  private readonly turns = new Map<OwnerId, MonotonicMs>();
  /** Keys that this process lets others have for a moment, after a turn of its own. */
  private readonly rests = new Map<string, CallbackTimer>();
  private readonly timers: TimerQueue;
  /** Owners with a pushed grant whose first renewal sets the lease exactly. */
  private readonly unclaimed = new Set<OwnerId>();
  /** Owners with a request of this session that may still be carried out. */
  private readonly inDoubt = new Set<OwnerId>();

  constructor(
    connector: ServerConnector,
    private readonly lockNames: RedissonKeyNames,
    client: LockStoreClient,
    confirmedBy: Replicas | undefined,
    cluster?: ClusterPart,
  ) {
    super(connector, lockNames.own, client, confirmedBy, cluster, lockNames);
    this.timers = new TimerQueue({ monotonic: () => client.now() }, false);
    const calls = (this.calls = new RedissonCalls(
      (key) => lockNames.of(key),
      () => this.channel.mode,
      (channel) => this.channel.hears(channel),
    ));
    const { pipeline } = this;
    this.takes = new ScriptBatch(pipeline, (some) => calls.take(some), unchanged);
    this.reserves = new ScriptBatch(pipeline, (some) => calls.reserve(some), unchanged);
    this.releases = new ScriptBatch(pipeline, (some) => calls.release(some), unchanged, true);
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner, wait, contended } = request;
    this.lockNames.check(key);
    const isWaiting = this.waiters.get(key)?.requests.has(owner) === true;
    if (!wait || !(contended || isWaiting || this.rests.has(key))) {
      const reply = await this.take(request);
      if (reply.outcome !== 'held') return reply;
      const { leaseLeft: holderLeaseLeft } = reply;
      if (!wait) return { outcome: 'busy', holderLeaseLeft };
      this.client.heldByOthers(owner, holderLeaseLeft);
      // If it has been cancelled meanwhile, nothing would ever withdraw it again.
      if (!this.client.isWanted(owner)) return { outcome: 'cancelled' };
    }
    return await this.wait(request, !isWaiting);
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.keep(request);
    return this.remove(request);
  }

  protected override remove(request: OwnerRequest): PromiseLike<ReleaseReply> {
    this.forget(request.key, request.owner);
    this.unclaimed.delete(request.owner);
    this.endTurn(request);
    const inDoubt = this.inDoubt.delete(request.owner) || request.inDoubt;
    return this.releases.add({ ...request, inDoubt });
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  async renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const claimed = requests.map((request) => this.claimed(request));
    const replies = await this.confirmRenewals(() => this.pipeline.send(this.calls.renew(claimed)));
    // No release follows.
    requests.forEach(({ owner }, index) => {
      if (replies[index] === 'gone' || replies[index] === 'taken') this.turns.delete(owner);
    });
    return replies;
  }

  renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.confirmRenewals(() => this.pipeline.sendAsking(this.calls.renew(requests)));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const connection = this.link.count;
    const reply = await this.reserves.add(request.lease === 0 ? request : this.claimed(request));
    if (reply.outcome === 'reserved' && reply.othersWait) this.beginTurn(request.owner);
    if (reply.outcome === 'reserved') await this.confirm(connection);
    return reply;
  }

  async inspect(key: string): Promise<StoredLock | null> {
    const found = await this.pipeline.send(this.calls.inspect(key));
    if (found === null) return null;
    const { listeners, ...lock } = found;
    const own = [...(this.waiters.get(key)?.requests.values() ?? [])];
    const others = listeners - (this.channel.hears(this.lockNames.of(key).channel) ? 1 : 0);
    // Of other clients only their number is known, not that of their callers.
    const unknown = Array.from({ length: Math.max(0, others) }, (_, index): StoredWaiter => {
      return { owner: `listener:${String(index + 1)}`, callers: 1, limit: 1, permits: 1, label: undefined };
    });
    return { ...lock, waiters: [...own, ...unknown] };
  }

  async breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    this.lockNames.check(key);
    const channels = this.lockNames.own.channels(this.slot);
    const reply = await this.pipeline.send(this.calls.breakHold(key, hold, channels));
    if (typeof reply === 'object') throw otherValue(key, reply);
    return reply;
  }

  override async close(): Promise<void> {
    this.timers.close();
    await super.close();
  }

  protected override onMessage(channel: string, text: string): void {
    const waiters = this.waiters.get(this.channels.get(channel) ?? '');
    if (waiters !== undefined) void this.tryFirst(waiters);
    else if (text.startsWith('broken ')) this.client.broken(text.slice('broken '.length) as OwnerId);
  }

  protected override get rights(): Rights {
    return { prefix: this.lockNames.prefix, others: ['redisson_lock_', 'nestjs_lock:'] };
  }

  private async wait(request: AcquireRequest, isFirst: boolean): Promise<AcquireReply> {
    const { key, owner } = request;
    const waiters = this.waitersFor(key);
    waiters.requests.set(owner, request);
    await this.channel.joined(waiters.channel);
    if (!waiters.requests.has(owner)) return { outcome: 'cancelled' };
    if (this.rests.has(key)) return { outcome: 'queued', holderLeaseLeft: undefined };
    try {
      const reply = await this.take(request);
      if (reply.outcome === 'held') return { outcome: 'queued', holderLeaseLeft: reply.leaseLeft };
      this.forget(key, owner);
      return reply;
    } catch (error) {
      const failure = storeFailure(error);
      // Not queued, or the slot of the lock has moved to another server.
      if (failure instanceof RedirectedError || (isFirst && !failure.inDoubt)) this.forget(key, owner);
      throw failure;
    }
  }

  /** After a message: the lock may be free. */
  private async tryFirst(waiters: Waiters): Promise<void> {
    waiters.isWoken = true;
    if (waiters.isTrying || this.rests.has(waiters.key)) return;
    waiters.isTrying = true;
    while (waiters.isWoken) {
      waiters.isWoken = false;
      const [request] = waiters.requests.values();
      if (request !== undefined) await this.tryFor(request, waiters);
    }
    waiters.isTrying = false;
  }

  private async tryFor(request: AcquireRequest, { requests, key }: Waiters): Promise<void> {
    const { owner, claimLease } = request;
    const startedAt = this.client.now();
    try {
      const reply = await this.take({ ...request, lease: claimLease });
      // Withdrawn, or granted by its own request meanwhile.
      if (reply.outcome !== 'granted' || !requests.has(owner)) return;
      this.forget(key, owner);
      this.unclaimed.add(owner);
      this.client.granted(owner, { ...reply, startedAt, lease: claimLease });
    } catch (error) {
      // The engine polls, and then learns why it does not have the lock.
      if (storeFailure(error).inDoubt && requests.has(owner)) this.inDoubt.add(owner);
    }
  }

  private async take(request: AcquireRequest): Promise<Exclude<TakeReply, OtherValue>> {
    const { key, owner } = request;
    const connection = this.link.count;
    const reply = await this.takes.add(request);
    if (reply.outcome === 'other') throw otherValue(key, reply);
    if (reply.outcome !== 'granted') return reply;
    await this.confirmOrCancel(connection, () =>
      this.remove({ key, owner, wasGranted: false, inDoubt: false }),
    );
    if (reply.othersWait === true) this.beginTurn(owner);
    return reply;
  }

  private beginTurn(owner: OwnerId): void {
    if (!this.turns.has(owner)) this.turns.set(owner, this.client.now());
  }

  /**
   * Woken clients take longer to ask again than this process, so it waits for about as long as its turn was: no longer
   * than a turn may be. At the end of that time it tries.
   */
  private endTurn({ key, owner }: OwnerRequest): void {
    const since = this.turns.get(owner);
    if (since === undefined) return;
    this.turns.delete(owner);
    const now = this.client.now();
    const earlier = this.rests.get(key);
    if (earlier !== undefined) this.timers.clear(earlier);
    const rest = new CallbackTimer(() => {
      this.rests.delete(key);
      const waiters = this.waiters.get(key);
      if (waiters !== undefined) void this.tryFirst(waiters);
    });
    this.rests.set(key, rest);
    this.timers.set(rest, later(now, Math.min(SHORT_TURN.ms, now - since)));
  }

  private claimed<R extends RenewRequest>(request: R): R {
    return this.unclaimed.delete(request.owner) ? { ...request, exactly: true } : request;
  }

  private waitersFor(key: string): Waiters {
    const known = this.waiters.get(key);
    if (known !== undefined) return known;
    const { channel } = this.lockNames.of(key);
    const waiters = { key, channel, requests: new Map(), isTrying: false, isWoken: false };
    this.waiters.set(key, waiters);
    this.channels.set(channel, key);
    void this.channel.join(channel);
    return waiters;
  }

  private forget(key: string, owner: OwnerId): void {
    const waiters = this.waiters.get(key);
    if (waiters?.requests.delete(owner) !== true || waiters.requests.size > 0) return;
    this.waiters.delete(key);
    this.channels.delete(waiters.channel);
    this.channel.leave(waiters.channel);
  }
}

function unchanged<Reply>(_: unknown, reply: Reply): Reply {
  return reply;
}

/** Redisson keeps neither an order of waiters nor permits in an `RLock`. */
export function whyUnsupported(call: { readonly fair: boolean; readonly limit: number }): string | undefined {
  const { fair, limit } = call;
  const option =
    limit === Infinity
      ? "mode: 'shared'"
      : limit !== 1
        ? 'limit and permits'
        : fair
          ? 'fair: true'
          : undefined;
  if (option === undefined) return undefined;
  return (
    `redissonStore can't carry out ${option}: it shares RLock and RFencedLock of Redisson, which have one holder and no ` +
    'order of waiters. Leave the option out, or keep this lock in another store, such as that of the option redis.'
  );
}

/** Nothing may be written where another object is. */
function otherValue(key: string, { type }: OtherValue): LockStoreError {
  return new LockStoreError(
    `the name of the lock ${JSON.stringify(key)} is in use by another object of Redis (${type})`,
    {
      inDoubt: false,
      retryable: false,
      remedy: 'It was left as it is. Use another key, or a keyPrefix that no other object has.',
    },
  );
}
