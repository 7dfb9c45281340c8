import type { AskRequest, Grant, LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import { storeFailure } from '../../stores/port/store-failure.js';
import { handOver } from '../queue/hand-over.js';
import type { Waiter } from '../queue/waiter.js';
import type { Wait } from '../time/wait.js';
import type { AcquireContext, TriedLock } from './acquire-context.js';

/** One for each lock, and there is at least one. */
type Requests = readonly [AskRequest, ...AskRequest[]];

/** One request for a caller that stands in no queue: of one lock, or of several that are to be had together. */
export class TryRequest {
  readonly sentAt: MonotonicMs;
  isUnderWay = false;
  /** Whether what it brings is being taken back, though the caller may not have heard of it yet. */
  private isTakenBack = false;
  private readonly locks: readonly TriedLock[];

  constructor(
    private readonly context: AcquireContext,
    callers: readonly Waiter[],
  ) {
    const { engine } = context;
    this.sentAt = engine.leases.sendingAt();
    this.locks = callers.map((caller) => {
      return { caller, owner: engine.nextOwner(), wasBroken: false, isHeldByOthers: false };
    });
  }

  /** Whether a grant that the answer tells of is broken already. */
  get wasBroken(): boolean {
    return this.locks.some(({ wasBroken }) => wasBroken);
  }

  /** Whether the store has told, and not answered yet, that others come first. */
  get isHeldByOthers(): boolean {
    return this.isUnderWay && this.locks.some(({ isHeldByOthers }) => isHeldByOthers);
  }

  /** Whether a grant that it brought may be over. */
  get mayBeOver(): boolean {
    const { leases } = this.context.engine;
    return this.locks.some(({ caller }) => leases.mayBeOver(this.sentAt, caller.lease));
  }

  /** Asks the store; gives its answer or failure. Call `end` as soon as it is there. */
  async send<R>(ask: (requests: Requests) => PromiseLike<R>): Promise<R | LockStoreError> {
    const { engine, queues, unanswered } = this.context;
    this.isUnderWay = true;
    for (const lock of this.locks) {
      unanswered.set(lock.owner, lock);
      queues.queueOf(lock.caller.key)?.leases.returnIdle();
    }
    try {
      const [first, ...others] = this.locks.map(requestFor);
      if (first === undefined) throw new TypeError('it is asked for nothing');
      const reply = await ask([first, ...others]);
      engine.storeReporter.answered();
      return reply;
    } catch (error) {
      return storeFailure(error);
    }
  }

  /** Nothing is under way any more. Answers whether what has come counts: not if it was taken back meanwhile. */
  end(): boolean {
    this.isUnderWay = false;
    for (const { owner } of this.locks) this.context.unanswered.delete(owner);
    return !this.isTakenBack;
  }

  /** The store has granted all of it. */
  granted(grants: readonly Grant[]): void {
    const { engine, queues } = this.context;
    const { sentAt: startedAt } = this;
    const granted = this.locks.map(({ caller, owner }, index) => {
      const grant = grants[index];
      if (grant === undefined) throw new TypeError('it granted some of the locks only');
      return { ...grant, caller, owner };
    });
    for (const { caller, owner, token, since, degraded = false } of granted) {
      const deadline = engine.leases.deadlineOf(startedAt, caller.lease);
      const grant = { token, since, startedAt, deadline, unclaimed: false, degraded };
      const lease = engine.leases.open({ owner, inDoubt: false }, caller, grant);
      handOver(engine, lease, caller);
      if (caller.limit === 1) queues.adopt(lease);
    }
  }

  async withdraw(inDoubt: boolean): Promise<void> {
    const { engine } = this.context;
    await Promise.all(this.locks.map(({ caller, owner }) => engine.withdraw(caller.key, owner, inDoubt)));
  }

  /** Takes back what the answer would bring before it is here, and before the caller hears of the end (B10). */
  async takeBack(wait: Pick<Wait<unknown>, 'stop'>, patience: number): Promise<void> {
    this.isTakenBack = true;
    wait.stop();
    await this.context.engine.timers.within(patience, this.withdraw(true));
  }
}

/** A lock that is free: no place in the store's queue is taken. */
function requestFor({ caller: { key, lease, leaseTime, limit, label }, owner }: TriedLock): AskRequest {
  return {
    key,
    owner,
    lease,
    isRenewed: leaseTime === undefined,
    claimLease: lease,
    wait: false,
    callers: 1,
    tokens: 1,
    contended: false,
    limit,
    label,
  };
}
