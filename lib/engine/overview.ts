import { ELECTION_OPERATION, kindOf } from '../model/lock-kind.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { isCutOff, PROBE_KEY, verified } from '../stores/port/forwarding-session.js';
import { callsOf } from './report/call-site.js';
import type { AcquireContext } from './acquire.js';
import type { Hold } from './hold.js';
import type { Ticket } from './ticket.js';

/** Lease of the trial lock, ms: short, in case its release fails. */
const TRIAL_LEASE = 2_000;

/** What this process holds and waits for, for people and instruments. Computed on each call. */
export class Overview {
  private probing: Promise<void> | undefined;

  constructor(private readonly engine: AcquireContext) {}

  /** Oldest first. */
  held(): readonly HeldLock[] {
    const { clock, tickets } = this.engine;
    const now = clock.monotonic();
    const long = new Set(tickets.long.all);
    const holds = this.ticketsInUse.flatMap((ticket) =>
      ticket.holders.map((user): HeldLock => {
        const { key, token, heldFrom, opened } = user;
        const heldFor = now - heldFrom;
        return {
          key,
          ...kindOf(user),
          token,
          since: Math.round(clock.wall() - heldFor),
          heldFor: Math.round(heldFor),
          remaining: tickets.remaining(ticket),
          leaseTime: ticket.leaseTime,
          renewalError: ticket.renewalFailure,
          local: ticket.local,
          callSite: opened === undefined ? undefined : callsOf(opened)[0],
          isLong: long.has(user),
        };
      }),
    );
    return holds.sort((one, other) => other.heldFor - one.heldFor);
  }

  /** Longest wait first. */
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

  /** Newest first. */
  lost(): readonly LostLock[] {
    const { clock, reporter } = this.engine;
    return reporter.losses.list(clock.monotonic());
  }

  status(): LockStatus {
    const { engine, ticketsInUse, waiters } = this;
    const { clock, tickets, session, storeReporter, isClosing, clientId } = engine;
    const now = clock.monotonic();
    const connections = session.connections?.();
    const renewed = ticketsInUse.filter(({ leaseTime }) => leaseTime === undefined);
    const heldFrom = ticketsInUse.flatMap((ticket) => ticket.holders.map(({ heldFrom }) => heldFrom));
    return {
      instance: engine.instance,
      clientId,
      store: {
        ...storeReporter.status(isCutOff(session)),
        description: session.description,
        connections,
      },
      local: storeReporter.isLocal,
      closing: isClosing,
      holds: heldFrom.length,
      longestHold: longest(heldFrom, now),
      longHolds: tickets.long.all.length,
      waiters: waiters.length,
      longestWait: longest(
        waiters.filter(({ operation }) => operation !== ELECTION_OPERATION).map(({ startedAt }) => startedAt),
        now,
      ),
      renewalsFailing: ticketsInUse.filter(({ renewalFailure }) => renewalFailure !== undefined).length,
      watchdogTimeout: engine.watchdogTimeout,
      leastRemaining: least(renewed.map((ticket) => tickets.remaining(ticket))),
      recentLosses: engine.reporter.losses.count(now),
    };
  }

  /**
   * Checks with the store whether locks can be acquired, and updates {@link status}. Concurrent calls use one request,
   * so that health checks don't pile up on a store that does not reply. Writes nothing, unless calls have failed
   * because of the store and no lock has been granted since: then it acquires and releases a lock of its own.
   */
  probe(): Promise<void> {
    this.probing ??= this.checkStore().finally(() => {
      this.probing = undefined;
    });
    return this.probing;
  }

  private async checkStore(): Promise<void> {
    const { engine } = this;
    if (engine.isClosing) return;
    await engine.start();
    try {
      await verified(engine.session);
      // Reads may succeed although calls fail.
      if (engine.storeReporter.isFailing) await this.tryLock();
      engine.storeReporter.answered();
    } catch (error) {
      engine.storeReporter.unfit(storeFailure(error));
    }
  }

  /** Acquires and releases a lock, so that a process becomes healthy again without a call. */
  private async tryLock(): Promise<void> {
    const { engine } = this;
    const owner = engine.nextOwner();
    const lease = Math.min(TRIAL_LEASE, engine.watchdogTimeout);
    const request = { key: PROBE_KEY, owner, lease, claimLease: lease, callers: 1, tokens: 1 };
    try {
      const { outcome } = await engine.session.acquire({
        ...request,
        wait: false,
        contended: false,
        limit: 1,
        permits: 1,
        label: undefined,
      });
      if (outcome === 'granted') void engine.tickets.withdraw(PROBE_KEY, owner, false);
      // If it is busy, the store has just granted it to another process.
      if (outcome !== 'cancelled') engine.storeReporter.granted();
    } catch (error) {
      const failure = storeFailure(error);
      if (failure.inDoubt) void engine.tickets.withdraw(PROBE_KEY, owner, true);
      throw failure;
    }
  }

  private get ticketsInUse(): readonly Ticket[] {
    return [...this.engine.tickets.held].filter(({ users }) => users > 0);
  }

  private get waiters(): readonly Hold[] {
    return this.engine.lines.all.flatMap(({ waiting, trying }) => [
      ...waiting,
      ...[...trying].filter(({ isRetrying }) => isRetrying),
    ]);
  }
}

/** ms since the first of these times; there may be many. */
function longest(times: readonly number[], now: number): number {
  return Math.round(times.reduce((most, time) => Math.max(most, now - time), 0));
}

function least(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((one, other) => Math.min(one, other));
}
