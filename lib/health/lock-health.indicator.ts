import { Inject, Injectable, Optional } from '@nestjs/common';
import { LockAdmin } from '../api/lock-admin.js';
import type { HeldLock, LockStatus } from '../model/lock-status.js';
import { check, checkOptions, oneOf, option, time } from '../model/option-checks.js';
import { onePerProcess } from '../nest/module/one-per-process.js';

/** When locks count as unhealthy. All times are ms: 0 … 2 147 483 647, or `Infinity` for never. */
export interface LockHealthThresholds {
  /**
   * `down` when the store has not replied for this long, or has granted no lock for this long although calls requested
   * one. 0 reports `down` at once.
   *
   * @default 5_000
   */
  readonly unreachableFor?: number | undefined;
  /**
   * How long this check waits for the store to reply to its probe, 1 … 2 147 483 647 ms. A later reply does not count.
   *
   * @default 1_000
   */
  readonly probeTimeout?: number | undefined;
  /**
   * Degraded when this process has held a lock for longer than this.
   *
   * @default Infinity
   */
  readonly longestHold?: number | undefined;
  /**
   * Degraded when a call of this process has waited for longer than this.
   *
   * @default Infinity
   */
  readonly longestWait?: number | undefined;
  /**
   * The status to report when locks are degraded. Terminus supports `'degraded'` since version 12. Version 11 omits such an
   * indicator from its result, so keep `'up'` there; the reasons are reported either way.
   *
   * @default 'up'
   */
  readonly degradedStatus?: 'up' | 'degraded' | undefined;
  /**
   * Elections of `nestjs-distributed-lock/leader` to report: the result then has `leads`. Whether this process leads does not
   * change the status; it is degraded while a method under `@OnElected` keeps throwing, or methods still run long after
   * their leadership has ended.
   *
   * @default none
   */
  readonly elections?: readonly ReportedElection[] | undefined;
}

/**
 * Thresholds for all calls of `isHealthy` that do not set their own. `degradedStatus` and `elections` belong to the
 * call, since they determine the type of its result.
 */
export type LockHealthDefaults = Omit<LockHealthThresholds, 'degradedStatus' | 'elections'>;

/** The properties of a `LeaderElection` that the health check reads. */
export interface ReportedElection {
  readonly name: string;
  readonly isLeader: boolean;
  readonly hasFailed?: boolean;
  readonly overdue?: readonly string[];
}

/** The health of the locks of one module instance in this process. Contains no keys. */
export interface LockHealth<Status extends string = 'up' | 'degraded' | 'down'> {
  readonly status: Status;
  /** Why locks are degraded or `down`; empty if they are neither. */
  readonly reasons: readonly string[];
  /** Which store keeps the locks. */
  readonly store: string;
  /** Whether the store replied to the probe. */
  readonly reachable: boolean;
  /** Whether locks are held in this process only (`onUnavailable: 'local'`). */
  readonly local: boolean;
  /** How many locks this process holds. */
  readonly holds: number;
  /** How many calls of this process wait. */
  readonly waiters: number;
  /** The names of the given `elections` that this process leads. */
  readonly leads?: readonly string[];
}

type Limits = { readonly [Name in keyof LockHealthThresholds]-?: NonNullable<LockHealthThresholds[Name]> };

/** The injection token of the thresholds of `LockHealthModule`. */
export const DEFAULTS = Symbol('import LockHealthModule.forRoot(), not the class itself');

const WHERE = 'LockHealthIndicator.isHealthy()';
/**
 * Reports the health of this process's locks to terminus or any other health check. Use it for readiness, never for
 * liveness: a restart does not repair the store, and it ends every hold of the process.
 *
 * `LockHealthModule` provides it.
 */
@onePerProcess('LockHealthIndicator')
@Injectable()
export class LockHealthIndicator {
  /** When the first of the unanswered probes was sent, ms since the epoch; undefined after a reply. */
  private silentSince: number | undefined;

  /** @param defaults for calls of `isHealthy` without a threshold */
  constructor(
    private readonly admin: LockAdmin,
    @Optional() @Inject(DEFAULTS) private readonly defaults: LockHealthDefaults = {},
  ) {}

  /**
   * Sends one probe to the store. Reports `down` when the store has been unreachable for too long (for a quorum: when
   * it has no majority), when it has replied but granted no lock for too long, and when the application shuts down.
   * Reports degraded when locks are held in this process only, when renewals have failed for half of a lease, when
   * holds were lost in the last five minutes, when a hold is older than `warnHeldAfter` of the module, and when a hold
   * or a wait exceeds its threshold.
   *
   * @param key the name of the result, such as `locks`
   * @throws LockOptionsError for invalid thresholds
   */
  async isHealthy<Key extends string>(
    key: Key,
    thresholds?: LockHealthThresholds & { readonly degradedStatus?: 'up' | undefined },
  ): Promise<Record<Key, LockHealth<'up' | 'down'>>>;
  async isHealthy<Key extends string>(
    key: Key,
    thresholds: LockHealthThresholds,
  ): Promise<Record<Key, LockHealth>>;
  async isHealthy<Key extends string>(
    key: Key,
    thresholds: LockHealthThresholds = {},
  ): Promise<Record<Key, LockHealth>> {
    const isName = typeof key === 'string' && key !== '';
    check(isName, WHERE, 'key must be a non-empty string, such as "locks"', key);
    const limits = checkOptions(WHERE, thresholds, {
      ...checksWith(this.defaults),
      degradedStatus: oneOf<'up' | 'degraded'>('up', ['degraded']),
      elections: option('an array of LeaderElection', areElections, []),
    });
    const status = await this.probe(limits.probeTimeout);
    const down = reasonsToBeDown(status, limits, Date.now());
    const degraded = down.length > 0 ? [] : reasonsToBeDegraded(status, () => this.admin.held(), limits);
    const { holds, waiters, store } = status;
    const leads = limits.elections.filter(({ isLeader }) => isLeader).map(({ name }) => name);
    const health: LockHealth = {
      status: down.length > 0 ? 'down' : degraded.length > 0 ? limits.degradedStatus : 'up',
      reasons: [...down, ...degraded],
      store: store.name,
      reachable: store.reachable === true,
      local: status.local,
      holds,
      waiters,
      ...(thresholds.elections !== undefined && { leads }),
    };
    return { [key]: health } as Record<Key, LockHealth>;
  }

  /** A store that does not reply in time counts as unreachable since the first such probe was sent. */
  private async probe(timeout: number): Promise<LockStatus> {
    const sentAt = Date.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, timeout, undefined)));
    // A reply that is too late for this check still counts for later ones.
    const probed = this.admin.probe().then((status) => {
      if (status.store.reachable === true) this.silentSince = undefined;
      return status;
    });
    const status = await Promise.race([probed, late]);
    clearTimeout(timer);
    if (status === undefined) this.silentSince ??= sentAt;
    const known = status ?? this.admin.status();
    const { store } = known;
    if (this.silentSince === undefined) return known;
    const since = Math.min(
      this.silentSince,
      (store.reachable === false ? store.since : undefined) ?? Infinity,
    );
    return { ...known, store: { ...store, reachable: false, since } };
  }
}

/** @throws LockOptionsError for invalid thresholds */
export function checkHealthDefaults(where: string, defaults: LockHealthDefaults): LockHealthDefaults {
  return checkOptions(where, defaults, checksWith({}));
}

function checksWith(defaults: LockHealthDefaults) {
  const bounds = { min: 0, infinite: true };
  return {
    unreachableFor: time(defaults.unreachableFor ?? 5_000, bounds),
    probeTimeout: time(defaults.probeTimeout ?? 1_000, { min: 1 }),
    longestHold: time(defaults.longestHold ?? Infinity, bounds),
    longestWait: time(defaults.longestWait ?? Infinity, bounds),
  };
}

function areElections(elections: unknown): elections is readonly ReportedElection[] {
  const isElection = (each: unknown): boolean =>
    typeof (each as Partial<ReportedElection> | null)?.isLeader === 'boolean';
  return Array.isArray(elections) && elections.every(isElection);
}

/** Why no lock can be acquired; empty if locks can be. */
function reasonsToBeDown(
  { store, local, closing }: LockStatus,
  { unreachableFor }: Limits,
  now: number,
): readonly string[] {
  if (closing) return ['the application is shutting down and acquires no more locks'];
  // Locks are granted locally.
  if (local) return [];
  const { reachable, failingSince } = store;
  const unreachable = now - ((reachable === false ? store.since : undefined) ?? Infinity);
  if (unreachable >= unreachableFor) {
    return [`${store.name} has been unreachable for ${seconds(unreachable)}: ${causeOf(store)}`];
  }
  const failing = now - (failingSince ?? Infinity);
  if (failing < unreachableFor) return [];
  return [`${store.name} has granted no lock for ${seconds(failing)}: ${causeOf(store)}`];
}

/** @param held called only when renewals fail or holds are older than `warnHeldAfter` */
function reasonsToBeDegraded(
  status: LockStatus,
  held: () => readonly HeldLock[],
  { longestHold, longestWait, elections }: Limits,
): readonly string[] {
  const { local, store, renewalsFailing, watchdogTimeout, recentLosses } = status;
  const reasons: string[] = [];
  if (local) reasons.push(`locks are acquired in this process only, because ${store.name} is unreachable`);
  else if (store.reachable === false) reasons.push(`${store.name} did not reply: ${causeOf(store)}`);
  else if (store.failingSince !== undefined) reasons.push(`${store.name} grants no locks: ${causeOf(store)}`);
  if (renewalsFailing > 0) {
    const failing = held().filter((lock) => isHalfOver(lock, watchdogTimeout)).length;
    if (failing > 0) reasons.push(`${count(failing, 'hold')} could not be renewed for half of the lease`);
  }
  if (recentLosses > 0) reasons.push(`${count(recentLosses, 'hold')} lost in the last 5 minutes`);
  if (status.longHolds > 0) reasons.push(...longHolds(held()));
  if (status.longestHold > longestHold)
    reasons.push(`a lock has been held for ${seconds(status.longestHold)}`);
  for (const { name, hasFailed, overdue = [] } of elections) {
    if (hasFailed === true) reasons.push(`a method of this process for the election "${name}" threw`);
    if (overdue.length > 0)
      reasons.push(`the leadership of "${name}" has ended, but methods still run: ${overdue.join(', ')}`);
  }
  if (status.longestWait > longestWait) reasons.push(`a call has waited for ${seconds(status.longestWait)}`);
  return reasons;
}

/** Describes the oldest such hold without its key, since health checks are often public. */
function longHolds(held: readonly HeldLock[]): readonly string[] {
  const long = held.filter(({ isLong }) => isLong);
  const [oldest] = long;
  if (oldest === undefined) return [];
  const { heldFor, label, callSite } = oldest;
  const labelled = label === undefined ? '' : `, label ${JSON.stringify(label)}`;
  const site = callSite === undefined ? '' : `, acquired ${callSite}`;
  const age = seconds(heldFor);
  return [`${count(long.length, 'hold')} longer than warnHeldAfter, the oldest for ${age}${labelled}${site}`];
}

/** Whether renewals fail and less than half of the lease is left. */
function isHalfOver({ renewalError, leaseTime, remaining }: HeldLock, watchdogTimeout: number): boolean {
  return renewalError !== undefined && remaining < (leaseTime ?? watchdogTimeout) / 2;
}

function causeOf({ error, remedy }: LockStatus['store']): string {
  const cause = error?.message ?? 'timed out';
  return remedy === undefined ? cause : `${cause}. ${remedy}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function count(number: number, what: string): string {
  return `${String(number)} ${what}${number === 1 ? '' : 's'}`;
}
