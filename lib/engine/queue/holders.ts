import { LockTimeoutError } from '../../model/lock.errors.js';
import { processOf } from '../client-id.js';
import type { EngineContext } from '../context.js';
import type { KnownHolder } from '../events/lock-reporter.js';
import type { LeaseUser } from '../lease/lease.js';
import { ANSWER_GRACE, LATEST_OUTCOME } from '../time/time-limits.js';
import type { OwnLeases } from './own-leases.js';
import type { Waiter } from './waiter.js';

/** The hold of this process that keeps its own callers waiting: one that nobody may release by itself comes first. */
export function ownHolder(
  { clientId }: EngineContext,
  leases: OwnLeases | undefined,
): KnownHolder | undefined {
  const holds = leases?.all.flatMap(({ holders }) => holders) ?? [];
  return holds.length === 0 ? undefined : holderAmong(holds, clientId);
}

/**
 * Names the holder in the error of a caller whose wait has ended, if the store tells it in the time that is left (B10). It is
 * asked only for callers that waited and fail: those with `waitTime: 0`, and those that do without the lock, would need
 * twice the requests. One of several keys has to give back the others first.
 *
 * @returns undefined if there is nothing to wait for
 */
export function withHolder(
  context: EngineContext,
  caller: Waiter,
  error: unknown,
): Promise<unknown> | undefined {
  if (!(error instanceof LockTimeoutError) || error.holder !== undefined) return undefined;
  const { skips, waitTime, partOf, startedAt } = caller;
  if (skips || waitTime === 0 || partOf !== undefined) return undefined;
  const left = startedAt + waitTime + LATEST_OUTCOME - context.clock.monotonic();
  if (left <= 0) return undefined;
  return nameHolder(context, caller.key, error, Math.min(left, ANSWER_GRACE));
}

async function nameHolder(
  context: EngineContext,
  key: string,
  error: LockTimeoutError,
  patience: number,
): Promise<LockTimeoutError> {
  const { holderLookups, timers, reporter } = context;
  let lookup = holderLookups.get(key);
  if (lookup === undefined) {
    lookup = storedHolder(context, key).finally(() => holderLookups.delete(key));
    holderLookups.set(key, lookup);
  }
  let holder: KnownHolder | undefined;
  await timers.within(
    patience,
    lookup.then((found) => (holder = found)),
  );
  return holder === undefined ? error : reporter.withHolder(error, holder);
}

/** Never rejects: the error that it is for is there without it. */
async function storedHolder(
  { session, clientId, leases }: EngineContext,
  key: string,
): Promise<KnownHolder | undefined> {
  try {
    const holders = (await session.inspect(key))?.holders ?? [];
    const own = holders.filter(({ owner }) => owner.startsWith(`${clientId}:`)).map(({ owner }) => owner);
    const holds = own.length === 0 ? [] : [...leases.all].filter((lease) => own.includes(lease.owner));
    const here = holds.flatMap((lease) => lease.holders);
    // The store knows the grant of a lease, this process the hold that lives on it.
    if (here.length > 0) return { ...holderAmong(here, clientId), others: holders.length - 1 };
    const [oldest] = holders;
    if (oldest === undefined) return undefined;
    const { owner, token, since, label } = oldest;
    const isHere = owner.startsWith(`${clientId}:`);
    return {
      token,
      acquiredAt: since,
      label,
      process: processOf(owner),
      isHere,
      isOpen: false,
      others: holders.length - 1,
    };
  } catch {
    return undefined;
  }
}

function holderAmong(holds: readonly LeaseUser[], clientId: string): KnownHolder {
  const hold = holds.find(({ opened }) => opened !== undefined) ?? holds[0];
  return {
    token: hold?.token,
    acquiredAt: hold?.acquiredAt,
    label: hold?.label,
    process: processOf(`${clientId}:0`),
    isHere: true,
    isOpen: hold?.opened !== undefined,
    others: holds.length - 1,
  };
}
