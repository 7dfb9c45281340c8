import { LockTimeoutError } from '../../model/lock.errors.js';
import { processOf } from '../report/client-id.js';
import type { LeaseHolder } from '../leases/lease.js';
import type { KnownHolder } from '../report/lock-reporter.js';
import type { AcquireContext } from './acquire.js';
import type { PendingAcquire } from './pending-acquire.js';
import { ANSWER_GRACE, LATEST_OUTCOME, POLL } from '../machine/time-limits.js';

/**
 * Names the holder in the error of a caller whose wait has ended, if the store replies in the remaining time. Not
 * for `waitTime: 0` and callers that skip, which would need twice the requests; nor for one of several keys, whose call
 * has to release the others first.
 */
export function withHolder(
  context: AcquireContext,
  caller: PendingAcquire,
  error: unknown,
): Promise<unknown> | undefined {
  if (!(error instanceof LockTimeoutError) || error.holder !== undefined) return undefined;
  if (error === caller.abortReason) return undefined;
  const { skips, waitTime, partOf, startedAt } = caller;
  if (skips || waitTime === 0 || partOf !== undefined) return undefined;
  const left = startedAt + waitTime + LATEST_OUTCOME - context.clock.monotonic();
  if (left <= 0) return undefined;
  return lookUp(context, caller.key, Math.min(left, ANSWER_GRACE)).then((holder) =>
    holder === undefined ? error : context.reporter.withHolder(error, holder),
  );
}

/**
 * Warns of a wait without limit that may be a deadlock: its caller holds locks itself, or waits for an open handle of
 * this process. Once for each holder of a key.
 */
export async function warnOfLongWait(context: AcquireContext, caller: PendingAcquire): Promise<void> {
  const { keys, log, reporter } = context;
  const runner = keys.of(caller.key);
  const own = runner?.ownHolder;
  if (caller.holding.length === 0 && own?.isOpen !== true) return;
  const holder = own ?? (await lookUp(context, caller.key, POLL));
  // Without a holder the call waits for the store, which is logged elsewhere.
  if (caller.isSettled || holder === undefined || runner?.warnedOf === holder.token) return;
  if (runner !== undefined) runner.warnedOf = holder.token;
  log.warn(reporter.stillWaits(caller, holder));
}

async function lookUp(
  context: AcquireContext,
  key: string,
  patience: number,
): Promise<KnownHolder | undefined> {
  const { holderLookups, timers } = context;
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
  return holder;
}

/** Never rejects: the error is useful without the holder. */
async function storedHolder(
  { session, clientId, leases }: AcquireContext,
  key: string,
): Promise<KnownHolder | undefined> {
  try {
    const holders = (await session.inspect(key))?.holders ?? [];
    const [oldest] = holders;
    if (oldest === undefined) return undefined;
    const others = holders.length - 1;
    const isOwn = (owner: string): boolean => owner.startsWith(`${clientId}:`);
    const own = holders.filter(({ owner }) => isOwn(owner)).map(({ owner }) => owner);
    const leasesHere = own.length === 0 ? [] : [...leases.all].filter(({ owner }) => own.includes(owner));
    const here = leasesHere.flatMap((lease) => lease.holders);
    // The store knows the grant; this process knows the hold that uses it.
    if (here.length > 0) return { ...holderAmong(here, clientId), others };
    const { owner, token, since, label } = oldest;
    return {
      token,
      acquiredAt: since,
      label,
      process: processOf(owner),
      isHere: isOwn(owner),
      isOpen: false,
      others,
    };
  } catch {
    return undefined;
  }
}

/** The hold of this process that other callers wait for; a handle opened by `acquire()` comes first. */
export function holderAmong(holds: readonly LeaseHolder[], clientId: string): KnownHolder {
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
