import type { Clock } from '../common/clock.js';
import type { TimerQueue } from '../common/timer-queue.js';
import { LockTimeoutError } from '../model/lock.errors.js';
import type { LockStoreSession } from '../stores/port/lock-store.js';
import type { Hold } from './hold.js';
import { processOf } from './report/client-id.js';
import type { EngineLog } from './report/event-hub.js';
import type { KnownHolder, LockReporter } from './report/lock-reporter.js';
import type { TicketUser } from './ticket.js';
import type { Tickets } from './tickets.js';
import { ANSWER_GRACE, LATEST_OUTCOME, POLL } from './time-limits.js';

/** The parts of the engine that look up the holder of a lock. */
export interface HolderContext {
  readonly clientId: string;
  readonly clock: Clock;
  readonly log: EngineLog;
  readonly reporter: LockReporter;
  readonly session: LockStoreSession;
  readonly tickets: Tickets;
  readonly timers: TimerQueue;
  /** Pending lookups of a key's holder: one for all callers of a key that time out together. */
  readonly holderLookups: Map<string, Promise<KnownHolder | undefined>>;
}

/**
 * Names the holder in the error of a caller whose wait has ended, if the store replies in the remaining time. Not
 * for `waitTime: 0` and callers that skip, which would need twice the requests; nor for one of several keys, whose call
 * has to release the others first.
 */
export function withHolder(context: HolderContext, hold: Hold, error: unknown): Promise<unknown> | undefined {
  if (!(error instanceof LockTimeoutError) || error.holder !== undefined) return undefined;
  if (error === hold.abortReason) return undefined;
  const { skips, waitTime, partOf, startedAt } = hold;
  if (skips || waitTime === 0 || partOf !== undefined) return undefined;
  const left = startedAt + waitTime + LATEST_OUTCOME - context.clock.monotonic();
  if (left <= 0) return undefined;
  return lookUp(context, hold.key, Math.min(left, ANSWER_GRACE)).then((holder) =>
    holder === undefined ? error : context.reporter.withHolder(error, holder),
  );
}

/**
 * Warns of a wait without limit that may be a deadlock: its caller holds locks itself, or waits for an open handle of
 * this process. Once for each holder of a key.
 *
 * @param line of the key
 */
export async function warnOfLongWait(
  context: HolderContext,
  hold: Hold,
  line: { readonly ownHolder: KnownHolder | undefined; warnedOf: number | undefined },
): Promise<void> {
  const { log, reporter } = context;
  const own = line.ownHolder;
  if (hold.holding.length === 0 && own?.isOpen !== true) return;
  const holder = own ?? (await lookUp(context, hold.key, POLL));
  // Without a holder the call waits for the store, which is logged elsewhere.
  if (hold.isSettled || holder === undefined || line.warnedOf === holder.token) return;
  line.warnedOf = holder.token;
  log.warn(reporter.stillWaits(hold, holder));
}

async function lookUp(
  context: HolderContext,
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
  { session, clientId, tickets }: HolderContext,
  key: string,
): Promise<KnownHolder | undefined> {
  try {
    const holders = (await session.inspect(key))?.holders ?? [];
    const [oldest] = holders;
    if (oldest === undefined) return undefined;
    const others = holders.length - 1;
    const isOwn = (owner: string): boolean => owner.startsWith(`${clientId}:`);
    const here = holders.flatMap(({ owner }) => tickets.byOwner.get(owner)?.holders ?? []);
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
export function holderAmong(holds: readonly TicketUser[], clientId: string): KnownHolder {
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
