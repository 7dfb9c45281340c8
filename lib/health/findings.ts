import type { HeldLock, LockStatus } from '../model/lock-status.js';
import type { ResolvedThresholds } from './thresholds.js';

/** Why locks can't be taken; none if they can. */
export function reasonsToBeDown(
  { store, degraded, closing }: LockStatus,
  { unreachableFor }: ResolvedThresholds,
  now: number,
): readonly string[] {
  if (closing) return ['the application shuts down, and takes no locks any more'];
  // Locks are taken all the same, in this process.
  if (degraded) return [];
  const { reachable, failingSince } = store;
  const away = now - ((reachable === false ? store.since : undefined) ?? Infinity);
  if (away >= unreachableFor)
    return [`${store.name} has been out of reach for ${seconds(away)}: ${causeOf(store)}`];
  const failing = now - (failingSince ?? Infinity);
  if (failing < unreachableFor) return [];
  return [`${store.name} has granted no lock for ${seconds(failing)}: ${causeOf(store)}`];
}

/**
 * Why locks work, but not well.
 *
 * @param held asked for only where renewals fail, or holds are older than `warnHeldAfter`
 */
export function reasonsToBeDegraded(
  status: LockStatus,
  held: () => readonly HeldLock[],
  { longestHold, longestWait }: ResolvedThresholds,
): readonly string[] {
  const { degraded, store, renewalsFailing, watchdogTimeout, recentLosses } = status;
  const reasons: string[] = [];
  if (degraded) reasons.push(`locks are taken in this process only, since ${store.name} is out of reach`);
  else if (store.reachable === false) reasons.push(`${store.name} did not answer: ${causeOf(store)}`);
  else if (store.failingSince !== undefined) reasons.push(`${store.name} grants no locks: ${causeOf(store)}`);
  const failing =
    renewalsFailing === 0 ? 0 : held().filter((lock) => isHalfOver(lock, watchdogTimeout)).length;
  if (failing > 0) reasons.push(`${count(failing, 'hold')} could not be renewed for half of the lease`);
  if (recentLosses > 0) reasons.push(`${count(recentLosses, 'hold')} lost in the last 5 minutes`);
  if (status.longHolds > 0) reasons.push(longHolds(status, held()));
  if (status.longestHold > longestHold)
    reasons.push(`a lock has been held for ${seconds(status.longestHold)}`);
  if (status.longestWait > longestWait) reasons.push(`a call has waited for ${seconds(status.longestWait)}`);
  return reasons;
}

/** How many, and what is known of the oldest: no key, which is nobody's business. */
function longHolds({ longHolds: number, longestHold }: LockStatus, held: readonly HeldLock[]): string {
  const [oldest] = held;
  const label = oldest?.label === undefined ? '' : `, label ${JSON.stringify(oldest.label)}`;
  const place = oldest?.callSite === undefined ? '' : `, acquired ${oldest.callSite}`;
  return `${count(number, 'hold')} longer than warnHeldAfter, the oldest for ${seconds(longestHold)}${label}${place}`;
}

/** Its renewals fail, and less than half of what they bring is left. */
function isHalfOver({ renewalError, leaseTime, remaining }: HeldLock, watchdogTimeout: number): boolean {
  return renewalError !== undefined && remaining < (leaseTime ?? watchdogTimeout) / 2;
}

function causeOf({ error, remedy }: LockStatus['store']): string {
  const cause = error?.message ?? 'it is silent';
  return remedy === undefined ? cause : `${cause}. ${remedy}`;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}

function count(number: number, what: string): string {
  return `${String(number)} ${what}${number === 1 ? '' : 's'}`;
}
