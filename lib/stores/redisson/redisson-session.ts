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
import { TOMBSTONE_TTL } from '../port/times.js';
import { Turns } from '../port/turns.js';
import type { ServerConnector } from '../redis/connection/redis-connection.js';
import type { Rights } from '../redis/doctor/acl-rules.js';
import type { Replicas } from '../redis/replicas.js';
import { RedirectedError } from '../redis/connection/redis-failure.js';
import { ScriptBatch } from '../redis/scripts/pipeline.js';
import { ServerSession, type ClusterPart, type WholeServerSession } from '../redis/server-session.js';
import type { RedissonKeyNames } from './redisson-names.js';
import { RedissonCalls, SHORT_TURN, type OtherValue, type TakeReply } from './redisson-scripts.js';

const QUEUED: AcquireReply = { outcome: 'queued', holderLeaseLeft: undefined };

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
  /** Of grants that too few replicas have: their owners may go on. */
  private readonly cancels: RedissonSession['releases'];
  private readonly waiters = new Map<string, Waiters>();
  /** The key that waits for the messages of each channel. */
  private readonly channels = new Map<string, string>();
  /** One request at a time for a waiter: its own, or the one that a message causes. */
  private readonly asking = new Turns<OwnerId>();
  /** The turns of owners that began while others waited. */
  private readonly turns = new Map<OwnerId, { readonly key: string; readonly since: MonotonicMs }>();
  /** Keys that this process lets others have for a moment, after a turn of its own. */
  private readonly rests = new Map<string, CallbackTimer>();
  private readonly timers: TimerQueue;
  /** Owners with a request of this session that may still be carried out, and since when, oldest first. */
  private readonly inDoubt = new Map<OwnerId, MonotonicMs>();

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
      () => client.lastLocalToken?.(),
    ));
    const { pipeline } = this;
    // Turns begin and end when replies are read, in their order: a reply may come after the release was sent.
    const taken = (request: AcquireRequest, reply: TakeReply): TakeReply => {
      if (reply.outcome === 'granted' && reply.othersWait === true) this.beginTurn(request);
      return reply;
    };
    const reserved = (request: ReserveRequest, reply: ReserveReply): ReserveReply => {
      if (reply.outcome !== 'reserved') this.lost(request);
      else if (reply.othersWait) this.beginTurn(request);
      return reply;
    };
    const released = ({ owner }: OwnerRequest, reply: ReleaseReply): ReleaseReply => {
      this.ended(owner);
      return reply;
    };
    this.takes = new ScriptBatch(pipeline, (some) => calls.take(some), taken);
    this.reserves = new ScriptBatch(pipeline, (some) => calls.reserve(some), reserved);
    const releases = (some: readonly OwnerRequest[]): ReturnType<RedissonCalls['release']> =>
      calls.release(some);
    this.cancels = new ScriptBatch(pipeline, releases, released, true);
    this.releases = new ScriptBatch(
      pipeline,
      releases,
      (request, reply) => this.answered(request, released(request, reply)),
      true,
    );
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner, wait, contended } = request;
    this.lockNames.check(key);
    if (this.usedUp.has(owner)) return { outcome: 'cancelled' };
    const isWaiting = this.waiters.get(key)?.requests.has(owner) === true;
    if (!wait || !(contended || isWaiting || this.rests.has(key))) {
      let reply = await this.take(request);
      // The release that this request follows may have run after it, if the server had lost the script.
      if (reply.outcome === 'held' && !wait && (await this.pipeline.isOutOfOrder()))
        reply = await this.take(request);
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
    return this.end(request, this.releases);
  }

  /** @param batch that sends the release */
  private end(request: OwnerRequest, batch: RedissonSession['releases']): PromiseLike<ReleaseReply> {
    const { key, owner } = request;
    this.forget(key, owner);
    this.endTurn(request);
    this.usedUp.delete(owner);
    // A release may overtake a request of the same owner in their batch, and may fail before it is sent.
    if (this.asking.isBusy(owner)) this.doubt(owner);
    return batch.add(this.inDoubt.has(owner) ? { ...request, inDoubt: true } : request);
  }

  whenSent(): Promise<void> | undefined {
    return this.pipeline.whenSent();
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.renewed(requests, this.pipeline.send(this.calls.renew(requests)));
  }

  renewAsking(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.renewed(requests, this.pipeline.sendAsking(this.calls.renew(requests)));
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    const connection = this.link.count;
    const reply = await this.reserves.add(request);
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

  protected override forgetMoved(concerns: (key: string) => boolean): boolean {
    const moved = [...this.waiters.values()].filter(({ key }) => !concerns(key));
    for (const { key, requests } of moved) for (const owner of [...requests.keys()]) this.forget(key, owner);
    for (const [owner, { key }] of this.turns) if (!concerns(key)) this.turns.delete(owner);
    return moved.length > 0;
  }

  private async renewed(
    requests: readonly RenewRequest[],
    sent: Promise<RenewReplies>,
  ): Promise<RenewReplies> {
    const replies = await this.confirmRenewals(() => sent);
    requests.forEach((request, index) => {
      const reply = replies[index];
      if (reply === 'gone' || reply === 'taken') this.lost(request);
    });
    return replies;
  }

  private async wait(request: AcquireRequest, isFirst: boolean): Promise<AcquireReply> {
    const { key, owner } = request;
    const waiters = this.waitersFor(key);
    waiters.requests.set(owner, request);
    await this.channel.joined(waiters.channel);
    return await this.asking.run(owner, () => this.askFor(request, waiters, isFirst));
  }

  private async askFor(request: AcquireRequest, waiters: Waiters, isFirst: boolean): Promise<AcquireReply> {
    const { key, owner } = request;
    // Withdrawn, or its grant has been pushed, or its slot has moved away; or it has to let others have the lock.
    if (!waiters.requests.has(owner) || this.rests.has(key)) return QUEUED;
    try {
      const reply = await this.take(request);
      if (reply.outcome === 'held') return { outcome: 'queued', holderLeaseLeft: reply.leaseLeft };
      // A message may have been missed.
      if (!isFirst && reply.outcome === 'granted') this.channel.suspect();
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
    if (waiters.isTrying) return;
    waiters.isTrying = true;
    while (waiters.isWoken && !this.rests.has(waiters.key)) {
      waiters.isWoken = false;
      const [request] = waiters.requests.values();
      if (request === undefined) break;
      // If that one has left, the next one may have the lock.
      if (!(await this.tryFor(request, waiters))) waiters.isWoken = true;
    }
    waiters.isTrying = false;
  }

  /** Returns false if the owner no longer waits, and does not have the lock either. */
  private async tryFor(request: AcquireRequest, { requests, key }: Waiters): Promise<boolean> {
    const { owner, claimLease } = request;
    const startedAt = this.client.now();
    try {
      const reply = await this.asking.run(owner, async () =>
        requests.has(owner) ? await this.take({ ...request, lease: -claimLease }) : undefined,
      );
      // A withdrawal meanwhile has left a tombstone, or frees the lock. Or another request follows, perhaps because this
      // grant has been broken since.
      if (requests.get(owner) !== request) return requests.has(owner);
      if (reply === undefined || reply.outcome === 'held') return true;
      this.forget(key, owner);
      if (reply.outcome === 'cancelled') return false;
      this.client.granted(owner, { ...reply, startedAt, lease: claimLease });
    } catch (error) {
      // The engine polls, and then learns why it does not have the lock.
      const failure = storeFailure(error);
      if (failure.inDoubt) this.doubt(owner);
      if (failure instanceof RedirectedError) this.cluster?.outdated();
    }
    return true;
  }

  private async take(request: AcquireRequest): Promise<Exclude<TakeReply, OtherValue>> {
    const { key, owner } = request;
    const connection = this.link.count;
    const reply = await this.takes.add(request);
    if (reply.outcome === 'other') throw otherValue(key, reply);
    if (reply.outcome !== 'granted') return reply;
    await this.confirmOrCancel(connection, owner, () =>
      this.end({ key, owner, wasGranted: false, inDoubt: false }, this.cancels),
    );
    return reply;
  }

  /** A late copy of a request of this owner must not acquire the lock. */
  private doubt(owner: OwnerId): void {
    const now = this.client.now();
    for (const [other, since] of this.inDoubt) {
      if (now - since < TOMBSTONE_TTL) break;
      this.inDoubt.delete(other);
    }
    this.inDoubt.delete(owner);
    this.inDoubt.set(owner, now);
  }

  /** The store no longer has the hold, so that the engine sends no release. */
  private lost({ key, owner }: RenewRequest): void {
    if (!this.inDoubt.has(owner)) this.ended(owner);
    else this.release({ key, owner, wasGranted: true, inDoubt: true }).then(undefined, () => undefined);
  }

  private ended(owner: OwnerId): void {
    this.turns.delete(owner);
    this.inDoubt.delete(owner);
  }

  private beginTurn({ key, owner }: { readonly key: string; readonly owner: OwnerId }): void {
    if (!this.turns.has(owner)) this.turns.set(owner, { key, since: this.client.now() });
  }

  /**
   * Woken clients take longer to ask again than this process, so it waits for about as long as its turn was: no longer
   * than a turn may be. At the end of that time it tries.
   */
  private endTurn({ key, owner }: OwnerRequest): void {
    const turn = this.turns.get(owner);
    if (turn === undefined) return;
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
    this.timers.set(rest, later(now, Math.min(SHORT_TURN.ms, now - turn.since)));
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
