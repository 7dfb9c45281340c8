import { pauseBefore } from '../../common/background-retry.js';
import { later } from '../../common/clock.js';
import { whenReplied } from '../../common/deferred.js';
import type { Timer } from '../../common/timer-queue.js';
import type { ReleaseOutcome } from '../../model/lock-handle.js';
import type { AcquireReply, LockStoreError, MonotonicMs, OwnerId } from '../../stores/port/lock-store.js';
import { isCutOff } from '../../stores/port/forwarding-session.js';
import { storeFailure, unusableReply } from '../../stores/port/store-failure.js';
import type { EndOfWait } from '../holds/deadline.js';
import { Hold } from '../holds/hold.js';
import { holderAmong, withHolder } from './holder-names.js';
import type { HandOverBudget } from '../machine/hand-over-budget.js';
import { KeyMachine, type KeyEffects, type LeaseGrant, type Refusal } from '../machine/key-machine.js';
import type { QueueEntry } from '../machine/store-queue.js';
import { checkToken, type Lease } from '../leases/lease.js';
import type { Leases } from '../leases/leases.js';
import type { KnownHolder, LeaseLeft } from '../report/lock-reporter.js';
import type { AcquireContext } from './acquire.js';
import type { PendingAcquire } from './pending-acquire.js';
import { ANSWER_GRACE, CLAIM_LEASE, LATEST_OUTCOME, POLL, POLL_JITTER } from '../machine/time-limits.js';

const MICROTASK = Promise.resolve();

/** For how many microtask turns a lease of readers stays idle: a reader may be that many `await`s away. */
const LINGERING = 8;

/** All keys that callers of this process wait for, or hold and may pass on. */
export class KeyRunners {
  readonly runners = new Map<string, KeyRunner>();
  /** Keyed by the owners of queue entries. */
  readonly owners = new Map<OwnerId, KeyRunner>();

  constructor(private readonly engine: AcquireContext) {}

  join(caller: PendingAcquire): void {
    this.open(caller.key).join(caller);
  }

  /** Lets the next callers wait for a hold that was acquired without a queue position. */
  adopt(lease: Lease): void {
    if (lease.state === 'held') this.open(lease.key).adopt(lease);
  }

  of(key: string): KeyRunner | undefined {
    return this.runners.get(key);
  }

  get all(): readonly KeyRunner[] {
    return [...this.runners.values()];
  }

  /** Owners of pending requests, which the store may grant; with their keys. */
  get unanswered(): readonly (readonly [OwnerId, string])[] {
    const isAsking = ([owner, { machine }]: readonly [OwnerId, KeyRunner]): boolean =>
      machine.queue.entryOf(owner)?.isAsking === true;
    return [...this.owners].filter(isAsking).map(([owner, { key }]) => [owner, key] as const);
  }

  /** Handles a message of the store about an owner, if the owner has a queue entry. */
  handleFor(
    owner: OwnerId,
    event: (
      queue: KeyRunner['machine']['queue'],
      entry: QueueEntry<PendingAcquire>,
      now: MonotonicMs,
    ) => void,
  ): void {
    this.owners.get(owner)?.handle(({ queue }, now) => {
      const entry = queue.entryOf(owner);
      if (entry !== undefined) event(queue, entry, now);
    });
  }

  /** Whether a caller still waits under this owner. */
  isWanted(owner: OwnerId): boolean {
    return this.owners.get(owner)?.machine.queue.entryOf(owner)?.caller !== undefined;
  }

  /** Every queue entry requests again. */
  pollNow(): void {
    for (const runner of this.runners.values()) {
      runner.handle((machine, now) => {
        machine.queue.pollNow(now);
      });
    }
  }

  private open(key: string): KeyRunner {
    let runner = this.runners.get(key);
    if (runner === undefined) {
      runner = new KeyRunner(key, this.engine, this);
      this.runners.set(key, runner);
    }
    return runner;
  }
}

/** Carries out what the machine of one key decides: requests, timers, holds and errors. Nested events wait their turn. */
export class KeyRunner implements KeyEffects<PendingAcquire, Lease>, Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  readonly machine: KeyMachine<PendingAcquire, Lease>;
  readonly canReserve: boolean;
  readonly leases: Leases;
  /** The token of the last holder that a warning of a long wait has named. */
  warnedOf: number | undefined;
  private isHandling = false;
  /** Events that came while another one was handled, and notifications of users about that one. */
  private next: (() => void)[] | undefined;

  constructor(
    readonly key: string,
    private readonly engine: AcquireContext,
    private readonly registry: KeyRunners,
  ) {
    this.canReserve = engine.session.reserve !== undefined;
    this.leases = engine.leases;
    this.machine = new KeyMachine(this);
  }

  // Events

  /** Like `handle`, without a function for each call. */
  join(caller: PendingAcquire): void {
    if (this.isHandling) {
      this.later(() => {
        this.join(caller);
      });
      return;
    }
    const { engine, machine } = this;
    this.isHandling = true;
    try {
      caller.runner = this;
      machine.join(caller, caller.joinedAt);
      if (engine.hub.observed && machine.surelyWaits(caller, caller.joinedAt)) {
        engine.reporter.queued(caller, this.holderLeaseLeft);
      }
    } finally {
      this.handled();
    }
    caller.begin();
  }

  leave(caller: PendingAcquire, why: EndOfWait): void {
    this.handle((machine, now) => {
      if (machine.waiting.has(caller)) machine.leave(caller, why, now);
    });
  }

  adopt(lease: Lease): void {
    this.handle((machine, now) => {
      lease.runner = this;
      for (const each of machine.adopt(lease, now)) this.leases.onSuperseded(each);
    });
  }

  /** Hands the lock to the next caller of this process, if one may have it. */
  onHoldEnded(lease: Lease, now: MonotonicMs): boolean {
    if (this.isHandling) return false;
    this.isHandling = true;
    try {
      return this.machine.onHoldEnded(lease, now);
    } finally {
      this.handled();
    }
  }

  /** Keeps the lease for readers that are about to come back, if possible; resolves with its outcome. */
  linger(lease: Lease, now: MonotonicMs): Promise<ReleaseOutcome> | undefined {
    if (this.isHandling || !this.machine.linger(lease, now)) return undefined;
    lease.lingering = this.releaseSoon(lease);
    return lease.lingering.then(() => lease.returned ?? 'released');
  }

  onLeaseEnded(lease: Lease): void {
    this.handle((machine, now) => {
      machine.onLeaseEnded(lease, now);
    });
  }

  fire(): void {
    this.handle((machine, now) => {
      machine.fire(now);
    });
  }

  onDue(entry: QueueEntry<PendingAcquire>): void {
    this.handle(({ queue }, now) => {
      queue.onDue(entry, now);
    });
  }

  /** Whether the store may grant the lock to an entry of this process that no caller needs. */
  get isLeaving(): boolean {
    return this.machine.queue.leaving.size > 0;
  }

  /** Resolves when no withdrawal or release of this key is pending. */
  async idle(): Promise<void> {
    while (this.isLeaving) await this.machine.queue.leaving.ended();
  }

  handle(event: (machine: KeyRunner['machine'], now: MonotonicMs) => void): void {
    if (this.isHandling) {
      this.later(() => {
        this.handle(event);
      });
      return;
    }
    this.isHandling = true;
    try {
      event(this.machine, this.engine.clock.monotonic());
    } finally {
      this.handled();
    }
  }

  private later(event: () => void): void {
    (this.next ??= []).push(event);
  }

  private handled(): void {
    this.isHandling = false;
    const { next } = this;
    if (next === undefined) return;
    this.next = undefined;
    for (const each of next) each();
  }

  // What is known

  /** Whether the store need not be asked for a caller with this limit, as it could only reply that the lock is held. */
  keepsOut(limit: number): boolean {
    return this.machine.keepsOut(limit, this.engine.clock.monotonic());
  }

  /** Undefined if unknown. */
  get holderLeaseLeft(): LeaseLeft | undefined {
    const { engine, machine } = this;
    const [lease] = machine.leases;
    if (lease?.limit === 1) return { ms: this.leases.remaining(lease), isBound: false };
    return engine.leaseLeft(machine.queue.holderLeaseLeft(engine.clock.monotonic()));
  }

  /** The lease of this owner, if a hold uses it. */
  leaseOf(owner: string): Lease | undefined {
    return this.machine.leases.find((lease) => lease.owner === owner && !lease.isParked);
  }

  /** The hold of this process that blocks the waiting callers; one opened by `acquire()` comes first. */
  get ownHolder(): KnownHolder | undefined {
    const holds = this.machine.leases.flatMap(({ holders }) => holders);
    return holds.length === 0 ? undefined : holderAmong(holds, this.engine.clientId);
  }

  // Effects

  get isClosing(): boolean {
    return this.engine.isClosing;
  }

  get isCutOff(): boolean {
    return isCutOff(this.engine.session);
  }

  nextOwner(): OwnerId {
    return this.engine.nextOwner();
  }

  acquire(entry: QueueEntry<PendingAcquire>, caller: PendingAcquire): MonotonicMs {
    const { engine, machine } = this;
    const { lease, leaseTime, limit, permits, label } = caller;
    const sentAt = this.leases.sendingAt();
    const answer = engine.session.acquire({
      key: this.key,
      owner: entry.owner,
      lease,
      isRenewed: leaseTime === undefined,
      claimLease: lease < CLAIM_LEASE ? lease : CLAIM_LEASE,
      wait: true,
      callers: machine.countAt(entry),
      tokens: machine.tokensWith(caller, entry.isContended),
      contended: entry.isContended,
      limit,
      permits,
      label,
    });
    whenReplied(
      answer,
      (reply) => {
        this.onReplied(entry, reply);
      },
      (error) => {
        this.onFailed(entry, storeFailure(error));
      },
    );
    return sentAt;
  }

  cancel({ owner, inDoubt }: QueueEntry<PendingAcquire>): void {
    this.follow(this.engine.withdraw(this.key, owner, inDoubt));
  }

  release(lease: Lease): void {
    this.follow(this.leases.giveUp(lease));
  }

  reserve(lease: Lease, budget: HandOverBudget, tokens: number): void {
    this.leases.watchdog.reserve(lease, budget, tokens, () => {
      this.handle((machine, now) => {
        machine.onReserved(lease, now);
      });
    });
  }

  poll(entry: QueueEntry<PendingAcquire>, holderLeaseLeft = Infinity): void {
    const expiry = holderLeaseLeft + 1 + Math.random() * POLL_JITTER;
    this.wakeEntry(entry, Math.min(expiry, POLL));
  }

  retry(entry: QueueEntry<PendingAcquire>, failures: number): void {
    this.wakeEntry(entry, pauseBefore(failures));
  }

  clearTimer(entry: QueueEntry<PendingAcquire>): void {
    this.engine.timers.clear(entry);
  }

  wakeAt(time: MonotonicMs): void {
    if (this.heapIndex === -1 || this.dueAt > time) this.engine.timers.set(this, time);
  }

  clearWake(): void {
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
  }

  onOpened({ owner }: QueueEntry<PendingAcquire>): void {
    this.registry.owners.set(owner, this);
  }

  onClosed({ owner }: QueueEntry<PendingAcquire>): void {
    this.registry.owners.delete(owner);
  }

  open(entry: QueueEntry<PendingAcquire>, caller: PendingAcquire, grant: LeaseGrant): Lease {
    const lease = this.leases.open(entry, caller, grant);
    lease.runner = this;
    return lease;
  }

  start(
    caller: PendingAcquire,
    lease: Lease,
    token: number,
    from: MonotonicMs,
    superseded: readonly Lease[],
  ): void {
    const { hub, reporter } = this.engine;
    startHold(this.engine, lease, caller, token, from);
    if (hub.observed) {
      this.later(() => {
        reporter.granted(caller, token);
      });
    }
    for (const each of superseded) this.leases.onSuperseded(each);
  }

  explain(caller: PendingAcquire, why: Refusal): unknown {
    const { reporter } = this.engine;
    switch (why.because) {
      case 'aborted':
        return caller.abortReason;
      case 'closed':
        return reporter.closed(this.key);
      case 'limit':
        return reporter.disagreement(caller, why.limit);
      case 'out-of-time':
        return reporter.outOfTime(caller);
      case 'late':
        return reporter.lateGrant(caller, why.took);
      case 'held':
        return reporter.timedOut(caller, this.holderLeaseLeft, why.here ? this.ownHolder : undefined);
      case 'unavailable':
        return reporter.unavailable(caller, why.failure ?? caller.lastFailure, why.waitedFor);
    }
  }

  refuse(caller: PendingAcquire, error: unknown, afterCleanUp: boolean): void {
    const { reporter, timers, clock } = this.engine;
    caller.stop();
    const named = withHolder(this.engine, caller, error);
    const left = caller.startedAt + caller.waitTime + LATEST_OUTCOME - clock.monotonic();
    const patience = Math.max(0, Math.min(ANSWER_GRACE, left));
    const cleanedUp = afterCleanUp ? timers.within(patience, this.idle()) : undefined;
    if (named === undefined && cleanedUp === undefined) {
      this.later(() => {
        reporter.refuse(caller, error);
      });
    } else {
      void Promise.all([named ?? error, cleanedUp]).then(([outcome]) => {
        reporter.refuse(caller, outcome);
      });
    }
  }

  reportQueued(holderLeaseLeft: number | undefined): void {
    const { engine, machine } = this;
    const left = engine.leaseLeft(holderLeaseLeft);
    const callers = [...machine.waiting].filter(({ isQueuedReported }) => !isQueuedReported);
    if (callers.length === 0) return;
    this.later(() => {
      for (const caller of callers) engine.reporter.queued(caller, left);
    });
  }

  reportFailure(failure: LockStoreError): void {
    this.engine.storeReporter.waitFailed(failure);
  }

  afterwards(event: () => void): void {
    this.later(() => {
      this.handle(event);
    });
  }

  onUnused(): void {
    const { runners } = this.registry;
    if (runners.get(this.key) === this) runners.delete(this.key);
  }

  private onReplied(entry: QueueEntry<PendingAcquire>, reply: AcquireReply): void {
    this.handle(({ queue }, now) => {
      try {
        // A custom store may reply anything.
        if (reply.outcome === 'granted') checkToken(reply.token);
      } catch (error) {
        queue.onFailed(entry, unusableReply(error), now);
        return;
      }
      if (entry.state !== 'gone') this.engine.storeReporter.answered();
      queue.onReplied(entry, reply, now);
    });
  }

  private onFailed(entry: QueueEntry<PendingAcquire>, error: LockStoreError): void {
    this.handle(({ queue }, now) => {
      queue.onFailed(entry, error, now);
    });
  }

  private wakeEntry(entry: QueueEntry<PendingAcquire>, ms: number): void {
    const { timers, clock } = this.engine;
    timers.set(entry, later(clock.monotonic(), ms));
  }

  private follow(leaving: PromiseLike<unknown>): void {
    void leaving.then(() => {
      this.machine.queue.leaving.end();
    });
  }

  private async releaseSoon(lease: Lease): Promise<void> {
    const { machine } = this;
    const isKept = (): boolean => lease.isParked && lease.state === 'held';
    for (let turn = 0; turn < LINGERING && isKept() && machine.waiting.size === 0; turn++) await MICROTASK;
    lease.lingering = undefined;
    this.handle((_, now) => {
      machine.onLingered(lease, now);
    });
  }
}

/**
 * The caller acquires the lock. Emit its `granted` event next.
 *
 * @param from when the hold begins
 */
export function startHold(
  engine: AcquireContext,
  lease: Lease,
  caller: PendingAcquire,
  token: number,
  from: MonotonicMs,
): void {
  const hold = new Hold(engine, lease, undefined, token, from, caller.operation, caller.label);
  lease.take(hold);
  if (caller.holdAtLeast > 0) hold.keepFor(caller.holdAtLeast);
  // Before listeners are notified: one that aborts the wait then comes too late.
  caller.succeed(hold);
}
