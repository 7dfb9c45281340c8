import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import { storeFailure } from '../stores/port/store-failure.js';
import type { AcquireContext } from './acquire/acquire-context.js';
import type { EngineContext } from './context.js';
import { kindOf } from './events/event-subject.js';
import type { Lease } from './lease/lease.js';
import type { Waiter } from './queue/waiter.js';

/** Nobody takes it: it is looked at to find out whether the store answers. */
const PROBE_KEY = 'nestjs-distributed-lock:probe';

/** What this process holds and waits for, for people and instruments. Nothing is kept for it while nobody asks. */
export class Overview {
  private readonly engine: EngineContext;
  private probing: Promise<void> | undefined;

  constructor(
    private readonly acquiring: AcquireContext,
    private readonly instance: string | undefined,
  ) {
    this.engine = acquiring.engine;
  }

  /** The oldest first. */
  held(): readonly HeldLock[] {
    const { clock, leases } = this.engine;
    const now = clock.monotonic();
    const holds = this.leasesInUse.flatMap((lease) =>
      lease.holders.map((user): HeldLock => {
        const { key, token } = user;
        const heldFor = now - lease.heldSince(user);
        return {
          key,
          ...kindOf(user),
          token,
          since: Math.round(clock.wall() - heldFor),
          heldFor: Math.round(heldFor),
          remaining: leases.remaining(lease),
          leaseTime: lease.fixedLease,
          renewalError: lease.renewalFailure,
          degraded: lease.degraded,
        };
      }),
    );
    return holds.sort((one, other) => other.heldFor - one.heldFor);
  }

  /** Those who came first are the first. */
  waiting(): readonly WaitingCall[] {
    const { clock } = this.engine;
    const now = clock.monotonic();
    const calls = this.waiters.map((caller): WaitingCall => {
      const { key, startedAt, waitTime } = caller;
      const waitedFor = now - startedAt;
      return {
        key,
        ...kindOf(caller),
        since: Math.round(clock.wall() - waitedFor),
        waitedFor: Math.round(waitedFor),
        waitTime,
      };
    });
    return calls.sort((one, other) => other.waitedFor - one.waitedFor);
  }

  /** The newest first. */
  lost(): readonly LostLock[] {
    const { clock, leaseReporter } = this.engine;
    return leaseReporter.losses.list(clock.monotonic());
  }

  status(): LockStatus {
    const { engine, leasesInUse, waiters } = this;
    const { clock, leases, session, storeReporter, isClosing, clientId } = engine;
    const now = clock.monotonic();
    const renewed = leasesInUse.filter(({ fixedLease }) => fixedLease === undefined);
    const heldFrom = leasesInUse.flatMap((lease) => lease.holders.map((user) => lease.heldSince(user)));
    return {
      instance: this.instance,
      clientId,
      store: {
        ...storeReporter.status,
        description: session.description,
        connections: session.connections?.(),
      },
      degraded: storeReporter.isLocal,
      closing: isClosing,
      holds: heldFrom.length,
      longestHold: longest(heldFrom, now),
      waiters: waiters.length,
      longestWait: longest(
        waiters.map(({ startedAt }) => startedAt),
        now,
      ),
      renewalsFailing: leasesInUse.filter(({ renewalFailure }) => renewalFailure !== undefined).length,
      watchdogTimeout: engine.watchdogTimeout,
      leastRemaining: least(renewed.map((lease) => leases.remaining(lease))),
      recentLosses: engine.leaseReporter.losses.count(now),
    };
  }

  /**
   * Asks the store once, so that {@link status} tells whether it answers now; resolves when that is known. Whoever asks
   * meanwhile gets the same answer: a store that is silent is not asked by each of many health checks.
   */
  probe(): Promise<void> {
    this.probing ??= this.askStore().finally(() => {
      this.probing = undefined;
    });
    return this.probing;
  }

  private async askStore(): Promise<void> {
    const { engine } = this;
    if (engine.isClosing) return;
    await engine.start();
    try {
      await engine.session.inspect(PROBE_KEY);
      engine.storeReporter.answered();
    } catch (error) {
      engine.storeReporter.heard(storeFailure(error));
    }
  }

  private get leasesInUse(): readonly Lease[] {
    return [...this.engine.leases.all].filter(({ users }) => users > 0);
  }

  private get waiters(): readonly Waiter[] {
    const inLine = this.acquiring.queues.all.flatMap((queue) => [...queue.waiting]);
    const retrying = [...this.acquiring.retrying].filter(({ isWaiting }) => isWaiting);
    return [...inLine, ...retrying.map(({ caller }) => caller)];
  }
}

/** ms since the first of these times; there may be many. */
function longest(times: readonly number[], now: number): number {
  return Math.round(times.reduce((most, time) => Math.max(most, now - time), 0));
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((one, other) => Math.min(one, other));
}
