import { Injectable } from '@nestjs/common';
import { LockService } from '../api/lock.service.js';
import type { LockStatus } from '../model/lock-status.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import { reasonsToBeDegraded, reasonsToBeDown } from './findings.js';
import { checkResultKey, resolveThresholds, type LockHealthThresholds } from './thresholds.js';

/** What is said of the locks of one module instance in this process. Contains no keys. */
export interface LockHealth<Status extends string = 'up' | 'degraded' | 'down'> {
  readonly status: Status;
  /** Why it is not simply `up`; empty if it is. */
  readonly reasons: readonly string[];
  /** Where the locks are. */
  readonly store: string;
  /** Whether it answered just now. */
  readonly reachable: boolean;
  /** Whether locks are taken in this process only (`onUnavailable: 'local'`). */
  readonly local: boolean;
  /** How many locks this process holds. */
  readonly holds: number;
  /** How many calls of this process wait. */
  readonly waiters: number;
}

const WHERE = 'LockHealthIndicator.isHealthy()';

/**
 * Tells terminus, or any other health check, how the locks of this process are. Use it for readiness, never for liveness:
 * a restart heals no store, and every hold of the process ends with it.
 *
 * Provide it where it is injected; for a module instance with a name by a factory: `new LockHealthIndicator(service)`.
 */
@onePerProcess('LockHealthIndicator')
@Injectable()
export class LockHealthIndicator {
  /** When the first probe was sent of those without an answer since the last one, ms since the epoch. */
  private silentSince: number | undefined;

  constructor(private readonly locks: LockService) {}

  /**
   * Asks the store once. `down` when it has been out of reach for too long, which for a quorum means that there is no
   * majority, when it has answered but granted no lock for too long, and when the application shuts down. Degraded when locks are taken in this process only, when renewals have
   * failed for half of a lease, when holds were lost in the last five minutes, when a hold is older than `warnHeldAfter` of the module, or when something
   * lasts longer than a threshold.
   *
   * @param key under which the answer has it, such as `locks`
   * @throws LockOptionsError for thresholds that can't be
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
    checkResultKey(WHERE, key);
    const limits = resolveThresholds(WHERE, thresholds);
    const status = await this.probe(limits.probeTimeout);
    const down = reasonsToBeDown(status, limits, Date.now());
    const degraded = down.length > 0 ? [] : reasonsToBeDegraded(status, () => this.locks.held(), limits);
    const { holds, waiters, store } = status;
    const health: LockHealth = {
      status: down.length > 0 ? 'down' : degraded.length > 0 ? limits.degradedStatus : 'up',
      reasons: [...down, ...degraded],
      store: store.name,
      reachable: store.reachable === true,
      local: status.degraded,
      holds,
      waiters,
    };
    return { [key]: health } as Record<Key, LockHealth>;
  }

  /** A store that is silent is as good as none, from the moment at which it was asked first. */
  private async probe(timeout: number): Promise<LockStatus> {
    const askedAt = Date.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, timeout, undefined);
    });
    // An answer that is late for this check is an answer still.
    const asked = this.locks.probe().then((status) => {
      if (status.store.reachable === true) this.silentSince = undefined;
      return status;
    });
    const status = await Promise.race([asked, late]);
    clearTimeout(timer);
    // Each check waits for a short time only; the store may be silent for longer.
    if (status === undefined) this.silentSince ??= askedAt;
    const known = status ?? this.locks.status();
    const since = this.silentSince;
    if (since === undefined) return known;
    return {
      ...known,
      store: { ...known.store, reachable: false, since: Math.min(since, awaySince(known) ?? since) },
    };
  }
}

/** Since when the store is known to be away; undefined if it is not. */
function awaySince({ store: { reachable, since } }: LockStatus): number | undefined {
  return reachable === false ? since : undefined;
}
