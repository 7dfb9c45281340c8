import { Injectable } from '@nestjs/common';
import { LockService } from '../api/lock.service.js';
import type { LockStatus } from '../model/lock-status.js';
import { check, checkNames, checkObject, checkTime } from '../model/option-checks.js';

/** When locks are not well. All times are milliseconds, 0 … 2 147 483 647 or `Infinity`. */
export interface LockHealthThresholds {
  /**
   * `down` when the store has not answered for longer than this. 0 is for those who want to know at once.
   *
   * @default 5_000
   */
  readonly unreachableFor?: number | undefined;
  /**
   * How long to wait for the store's answer to a probe; no answer in time counts as none.
   *
   * @default 1_000
   */
  readonly probeTimeout?: number | undefined;
  /**
   * `degraded` when a lock has been held by this process for longer than this.
   *
   * @default Infinity
   */
  readonly longestHold?: number | undefined;
  /**
   * `degraded` when a call of this process has waited for longer than this.
   *
   * @default Infinity
   */
  readonly longestWait?: number | undefined;
  /**
   * What is said of locks that work, but not well. `'degraded'` is for terminus from 12 on; terminus 11 does not know it
   * and leaves such an indicator out of its answer, so that there it has to be `'up'`, with the reasons beside it.
   *
   * @default 'up'
   */
  readonly degradedStatus?: 'up' | 'degraded' | undefined;
}

/** What is said of the locks of one module instance. */
export interface LockHealth {
  readonly status: 'up' | 'degraded' | 'down';
  /** Why it is not simply `up`; empty if it is. */
  readonly reasons: readonly string[];
  readonly store: string;
  readonly reachable: boolean;
  /** Whether locks are taken in this process only (`onUnavailable: 'local'`). */
  readonly local: boolean;
  readonly holds: number;
  readonly waiters: number;
}

const KNOWN: ReadonlySet<string> = new Set<keyof LockHealthThresholds>([
  'unreachableFor',
  'probeTimeout',
  'longestHold',
  'longestWait',
  'degradedStatus',
]);

/**
 * Tells terminus, or any other health check, how the locks of this process are. Use it for readiness, never for liveness:
 * a restart heals no store, and every hold of the process would be lost with it.
 *
 * For a module instance with a name, provide it by a factory: `new LockHealthIndicator(service)`.
 */
@Injectable()
export class LockHealthIndicator {
  constructor(private readonly locks: LockService) {}

  /**
   * Asks the store once. `down` when it has been out of reach for too long, which for a quorum means that no majority is
   * in reach. `degraded` when locks are taken in this process only, when renewals have failed past half of a lease, when
   * holds were lost in the last five minutes, or something lasts too long.
   *
   * @param key under which the answer has it
   * @throws LockOptionsError for thresholds that can't be
   */
  async isHealthy<Key extends string>(
    key: Key,
    thresholds: LockHealthThresholds = {},
  ): Promise<Record<Key, LockHealth>> {
    const limits = resolve(thresholds);
    const status = await this.probe(limits.probeTimeout);
    const down = reasonsToBeDown(status, limits);
    const reasons = [...down, ...reasonsToBeDegraded(status, limits)];
    const { holds, waiters, degraded, store } = status;
    const { name, reachable } = store;
    const health: LockHealth = {
      status: down.length > 0 ? 'down' : reasons.length > 0 ? limits.degradedStatus : 'up',
      reasons,
      store: name,
      reachable: reachable === true,
      local: degraded,
      holds,
      waiters,
    };
    return { [key]: health } as Record<Key, LockHealth>;
  }

  /** A store that is silent is as good as none. */
  private async probe(timeout: number): Promise<LockStatus> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolveLate) => {
      timer = setTimeout(resolveLate, Math.min(timeout, LONGEST_TIMER), undefined);
    });
    const status = await Promise.race([this.locks.probe(), late]);
    clearTimeout(timer);
    if (status !== undefined) return status;
    const known = this.locks.status();
    const { store } = known;
    return { ...known, store: { ...store, reachable: false, since: sinceOf(store, timeout) } };
  }
}

/** Of Node's timers, ms. */
const LONGEST_TIMER = 2_147_483_647;

/** A probe that was not answered counts from when it was sent, where nothing was known before. */
function sinceOf({ reachable, since }: LockStatus['store'], timeout: number): number {
  return reachable === false && since !== undefined ? since : Date.now() - timeout;
}

function resolve(
  thresholds: LockHealthThresholds,
): Required<{ [K in keyof LockHealthThresholds]: NonNullable<LockHealthThresholds[K]> }> {
  const where = 'isHealthy()';
  checkNames(where, checkObject(where, thresholds), KNOWN);
  const {
    unreachableFor = 5_000,
    probeTimeout = 1_000,
    longestHold = Infinity,
    longestWait = Infinity,
    degradedStatus = 'up',
  } = thresholds;
  const isStatus = degradedStatus === 'up' || degradedStatus === 'degraded';
  check(isStatus, where, "degradedStatus must be 'up' or 'degraded'", degradedStatus);
  return {
    unreachableFor: checkTime(where, 'unreachableFor', unreachableFor, { min: 0, infinite: true }),
    probeTimeout: checkTime(where, 'probeTimeout', probeTimeout, { min: 1 }),
    longestHold: checkTime(where, 'longestHold', longestHold, { min: 0, infinite: true }),
    longestWait: checkTime(where, 'longestWait', longestWait, { min: 0, infinite: true }),
    degradedStatus,
  };
}

type Limits = ReturnType<typeof resolve>;

function reasonsToBeDown({ store, degraded, closing }: LockStatus, { unreachableFor }: Limits): string[] {
  if (closing) return ['the application shuts down'];
  // Locks are taken all the same, in this process.
  if (store.reachable === true || degraded) return [];
  const since = store.since ?? Date.now();
  const forMs = Date.now() - since;
  if (forMs < unreachableFor) return [];
  const why = store.error === undefined ? 'it has not answered' : store.error.message;
  return [`${store.name} has been out of reach for ${seconds(forMs)}: ${why}`];
}

function reasonsToBeDegraded(status: LockStatus, { longestHold, longestWait }: Limits): string[] {
  const { degraded, store, renewalsFailing, leastRemaining, watchdogTimeout, recentLosses } = status;
  const reasons: string[] = [];
  if (degraded) reasons.push(`locks are taken in this process only, since ${store.name} is out of reach`);
  else if (store.reachable === false) reasons.push(`${store.name} did not answer when it was asked last`);
  if (renewalsFailing > 0 && (leastRemaining ?? 0) < watchdogTimeout / 2) {
    reasons.push(`${count(renewalsFailing, 'lease')} could not be renewed for half of the watchdogTimeout`);
  }
  if (recentLosses > 0) reasons.push(`${count(recentLosses, 'hold')} lost in the last 5 minutes`);
  if (status.longestHold > longestHold)
    reasons.push(`a lock has been held for ${seconds(status.longestHold)}`);
  if (status.longestWait > longestWait) reasons.push(`a call has waited for ${seconds(status.longestWait)}`);
  return reasons;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function count(number: number, what: string): string {
  return `${String(number)} ${what}${number === 1 ? '' : 's'}`;
}
