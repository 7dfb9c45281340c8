import type { ResolvedLockOptions } from '../model/lock.options.js';
import type {
  AskReply,
  AskRequest,
  LockStore,
  LockStoreClient,
  LockStoreSession,
  MonotonicMs,
  OwnerId,
} from '../stores/port/lock-store.js';
import { Waiter } from './queue/waiter.js';
import { TimerQueue } from '../common/timer-queue.js';
import { newClientId } from './client-id.js';
import { systemClock, type Clock } from '../common/clock.js';
import { harmless, type EngineLog, type EngineSettings } from './engine-settings.js';
import { EventHub } from './events/event-hub.js';
import { Hold } from './hold/hold.js';
import { BackgroundRetry } from '../common/background-retry.js';
import { MultiAcquire } from './acquire/multi-acquire.js';
import type { MultiHold } from './hold/multi-hold.js';
import { KeyQueue } from './queue/key-queue.js';
import type { Lease } from './lease/lease.js';
import { Leases } from './lease/leases.js';
import { RetryingAcquire } from './acquire/retrying-acquire.js';
import { LockInspector } from './lock-inspector.js';
import { QueueTicket, type TicketOwner } from './queue/queue-place.js';
import { reenter } from './hold/reenter.js';
import { LockReporter } from './events/lock-reporter.js';
import { innermostHold, innermostOwner, scopeOfCaller } from './scope/scope.js';
import { openInContext } from './scope/session-in-context.js';
import { ShareQueue } from './queue/share-queue.js';
import { isEndless, Shutdown } from './shutdown.js';
import { tryOnce } from './acquire/try-acquire.js';
import { UnansweredTries } from './acquire/unanswered-tries.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { isFull, ONCE, WaitingTries } from './queue/waiting-limit.js';
import { Withdrawal } from './lease/withdrawal.js';

/**
 * The one way to get a lock. Asks the scope chain first (re-entry), then the local queue, then the store; everything
 * public is sugar over {@link acquire}, which takes each of several keys, too.
 */
export class LockEngine {
  readonly clientId = newClientId();
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly leases: Leases;
  readonly session: LockStoreSession;
  readonly inspector = new LockInspector(this);
  readonly backgroundRetry: BackgroundRetry;
  readonly shutdown: Shutdown;
  /** Times at which somebody gives up waiting, and pauses between requests. */
  readonly waits: TimerQueue;
  private readonly log: EngineLog;
  private readonly queues = new Map<string, KeyQueue>();
  private readonly shares = new Map<string, ShareQueue>();
  private readonly places = new Map<OwnerId, QueueTicket>();
  readonly tries = new UnansweredTries();
  /** Callers who try again instead of standing in a queue. */
  readonly retrying = new Set<RetryingAcquire>();
  readonly waitingTries = new WaitingTries();
  private owners = 0;
  private starting: Promise<void> | undefined;
  private started = false;

  constructor(
    private readonly store: LockStore,
    private readonly settings: EngineSettings,
    log: EngineLog,
    readonly clock: Clock = store.clock ?? systemClock,
  ) {
    this.log = harmless(log);
    this.hub = new EventHub(this.log);
    this.reporter = new LockReporter(this.hub, clock, this.log);
    this.waits = new TimerQueue(clock, true);
    this.backgroundRetry = new BackgroundRetry(clock, this.waits, (error) => storeFailure(error).inDoubt);
    this.session = openInContext(store, this.clientOf());
    this.leases = new Leases(
      this.session,
      clock,
      this.hub,
      this.log,
      this.backgroundRetry,
      settings.watchdogTimeout,
    );
    this.shutdown = new Shutdown(this, settings, this.log);
  }

  /**
   * Connects; called by the first to need it. An application starts even if its store is down (B6), so this never
   * rejects: locks fail until the store is there.
   */
  start(): Promise<void> {
    if (this.isClosing) return Promise.resolve();
    this.starting ??= this.hub.context.run(() => this.connect());
    return this.starting;
  }

  /** Takes a lock, or throws. */
  acquire(
    key: string,
    options: ResolvedLockOptions,
    startedAt: MonotonicMs = this.clock.monotonic(),
  ): Promise<Hold> {
    options.signal?.throwIfAborted();
    // Most callers hold nothing, and the store has been started.
    if (!this.started || scopeOfCaller() !== undefined) return this.acquireInScope(key, options, startedAt);
    return this.acquireAnew(key, options, startedAt);
  }

  /** Takes all of these locks, or throws. The keys are sorted and differ. */
  acquireAll(keys: readonly string[], options: ResolvedLockOptions): Promise<MultiHold> {
    return new MultiAcquire(this, keys, options).run();
  }

  private async acquireInScope(
    key: string,
    options: ResolvedLockOptions,
    startedAt: MonotonicMs,
  ): Promise<Hold> {
    if (!this.started) await this.start();
    for (let outer = innermostHold(this, key); outer !== undefined; outer = innermostHold(this, key)) {
      const inner = await reenter(this, outer, options, startedAt);
      inner?.keepFor(options.holdAtLeast);
      if (inner !== undefined) return inner;
    }
    // It may have been aborted in the moment in which the re-entry it waited for became a fresh acquisition.
    options.signal?.throwIfAborted();
    return await this.acquireAnew(key, options, startedAt);
  }

  private acquireAnew(key: string, options: ResolvedLockOptions, startedAt: MonotonicMs): Promise<Hold> {
    if (this.isClosing) throw this.reporter.closed(key);
    const caller = new Waiter(this, key, options, startedAt);
    const { waitTime, retry } = options;
    if (this.shutdown.isOverdue && isEndless(caller)) this.track(tryOnce(this, caller));
    else if (retry !== undefined) this.track(new RetryingAcquire(this, caller, retry).run());
    else if (waitTime === 0) this.track(tryOnce(this, caller));
    else if (options.maxWaiting !== Infinity && isFull(this, caller))
      this.track(new RetryingAcquire(this, caller, ONCE).run());
    else if (options.limit !== 1 || (this.shares.size > 0 && this.shares.has(key)))
      (this.shares.get(key) ?? this.openShares(key)).add(caller);
    else (this.queues.get(key) ?? this.openQueue(key)).add(caller);
    return caller.promise;
  }

  /** The innermost hold that the running code owns, of a key or of any. */
  current(key?: string): Hold | MultiHold | undefined {
    return key === undefined ? innermostOwner(this) : innermostHold(this, key);
  }

  /** The innermost hold of a key that the running code owns or has lost. */
  owned(key: string): Hold | undefined {
    return innermostHold(this, key) ?? innermostHold(this, key, true);
  }

  /** Ends everything (B60): call it when all that uses locks has been stopped. */
  close(): Promise<void> {
    return this.shutdown.close();
  }

  // What single tries, polling callers and the queues of the keys use.

  /** Counts work among what shutdown waits for a moment. */
  track(work: Promise<unknown>): void {
    void this.backgroundRetry.track(work);
  }

  /** Calls back after a pause between attempts, or when the store is back. The function that it answers ends the pause. */
  pause(ms: number, done: () => void): () => void {
    return this.backgroundRetry.callAfter(ms, done);
  }

  /** Whether calls are refused. */
  get isClosing(): boolean {
    return this.shutdown.isClosing;
  }

  /** Where callers of this process wait. */
  get queuesInUse(): readonly (KeyQueue | ShareQueue)[] {
    return [...this.queues.values(), ...this.shares.values()];
  }

  get watchdogTimeout(): number {
    return this.settings.watchdogTimeout;
  }

  /** Where the callers of this process stand that wait for a key, if there are any. */
  queueOf(key: string): KeyQueue | undefined {
    return this.queues.get(key);
  }

  /** Whether callers of this process wait for a key, or hold it and may hand it on. */
  isInUse(key: string): boolean {
    return this.queues.has(key) || this.shares.has(key);
  }

  /** The callers that a place in the store's queue stands for. */
  callersAt(owner: OwnerId): readonly Waiter[] {
    return this.places.get(owner)?.callers ?? [];
  }

  /** Owners whom the store owes an answer, so that it may grant them what nobody here knows of; with their keys. */
  get unanswered(): readonly (readonly [OwnerId, string])[] {
    const asking = [...this.places.values()].filter(({ askedAt }) => askedAt !== undefined);
    return [...this.tries, ...asking.map(({ owner, key }) => [owner, key] as const)];
  }

  /** All callers of this process that wait for a key. */
  callersOf(key: string): readonly Waiter[] {
    return [...(this.queues.get(key)?.waiting ?? []), ...(this.shares.get(key)?.waiting ?? [])];
  }

  openPlace(queue: TicketOwner, contended: boolean): QueueTicket {
    const place = new QueueTicket(this, queue, contended);
    this.places.set(place.owner, place);
    return place;
  }

  closePlace(place: QueueTicket): void {
    this.places.delete(place.owner);
    if (place.heapIndex !== -1) this.waits.clear(place);
  }

  closeShares(queue: ShareQueue): void {
    if (this.shares.get(queue.key) === queue) this.shares.delete(queue.key);
  }

  closeQueue(queue: KeyQueue): void {
    if (this.queues.get(queue.key) === queue) this.queues.delete(queue.key);
  }

  /** Lets the callers to come stand in line behind a hold that was got without a queue. */
  adopt(lease: Lease, fair: boolean): void {
    if (lease.state === 'held') (this.queues.get(lease.key) ?? this.openQueue(lease.key)).adopt(lease, fair);
  }

  /** Asks the store. A store of the user's may throw instead of reject. */
  ask(request: AskRequest): PromiseLike<AskReply> {
    try {
      return this.session.ask(request);
    } catch (error) {
      return Promise.reject(storeFailure(error));
    }
  }

  /**
   * A caller gets the lock, on a lease that is new or that it inherits.
   *
   * @param former the lease that this one supersedes
   */
  handOver(lease: Lease, caller: Waiter, former?: Lease): void {
    const hold = new Hold(this, lease, undefined);
    lease.user = hold;
    lease.isParked = false;
    hold.keepFor(caller.holdAtLeast);
    // First of all: a listener that aborts the wait now comes too late, and must not make a hold that nobody has.
    caller.succeed(hold);
    this.leases.superseded(former);
    this.reporter.granted(caller, hold.token);
  }

  /** Takes a place back from the store; returns when that is done, or goes on in the background. */
  withdraw(key: string, owner: OwnerId, inDoubt: boolean): Promise<void> {
    return this.backgroundRetry.run(new Withdrawal(this.session, { key, owner, inDoubt }));
  }

  private openQueue(key: string): KeyQueue {
    const queue = new KeyQueue(key, this);
    this.queues.set(key, queue);
    return queue;
  }

  private openShares(key: string): ShareQueue {
    const queue = new ShareQueue(key, this);
    this.shares.set(key, queue);
    return queue;
  }

  /** An id for one acquisition, used once (P30). */
  nextOwner(): OwnerId {
    this.owners += 1;
    return `${this.clientId}:${String(this.owners)}` as OwnerId;
  }

  private async connect(): Promise<void> {
    const introduce = (): void => {
      const { description } = this.session;
      const about = description === undefined ? '' : ` (${description})`;
      this.log.log(`Locks are kept in ${this.store.name}${about}, as client ${this.clientId}.`);
    };
    try {
      await this.session.start();
      introduce();
    } catch (error) {
      this.reporter.storeMissing(storeFailure(error), this.store.name, introduce);
    }
    this.started = true;
  }

  private clientOf(): LockStoreClient {
    const askAgain = (): void => {
      for (const queue of this.queuesInUse) queue.wake();
      this.backgroundRetry.retryNow();
      this.leases.watchdog.retryNow();
    };
    return {
      id: this.clientId,
      watchdogTimeout: this.settings.watchdogTimeout,
      now: () => this.clock.monotonic(),
      granted: (owner, grant) => this.places.get(owner)?.push(grant),
      heldByOthers: (owner, holderLeaseLeft) => this.places.get(owner)?.heldByOthers(holderLeaseLeft),
      heldBack: (owner) => this.places.get(owner)?.heldBack(),
      resumes: (owner) => this.places.get(owner)?.resumes() === true,
      broken: (owner) => {
        this.places.get(owner)?.broken();
        this.tries.break(owner);
        this.leases.broken(owner);
      },
      askAgain,
      reconnected: (concerns) => {
        this.leases.verify(concerns);
        askAgain();
      },
      degraded: (isLocal, cause) => void this.reporter.degraded(isLocal, cause, this.store.name),
      warn: (message) => {
        this.log.warn(message);
      },
    };
  }
}
