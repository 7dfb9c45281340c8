import { CURSOR_RULE, type LockBreakOutcome } from '../model/inspect.options.js';
import type { LockHolder, LockInfo, LockList, LockPermits, LockWaiter } from '../model/lock-info.js';
import { DEFAULT_OPERATION, sharingOf } from '../model/lock-kind.js';
import { LockError, LockUnsupportedError, LockUnavailableError } from '../model/lock.errors.js';
import { refuse } from '../model/option-checks.js';
import { isOfSemaphore, permitsOf } from '../stores/port/limits.js';
import {
  type BreakReply,
  InvalidCursorError,
  type ListKeysRequest,
  type LockStoreError,
  type NamedHold,
  type StoredHold,
  type StoredLock,
  type StoredWaiter,
} from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { processOf } from './report/client-id.js';
import type { AcquireContext } from './acquire.js';
import type { Hold } from './hold.js';
import type { Ticket } from './ticket.js';
import { SILENCE } from './time-limits.js';

/** How many of the locks found by `list()` are inspected at a time. */
const INSPECTED_AT_ONCE = 16;

/** Single requests about locks: inspect, list, break. Failures reach the caller. */
export class LockInspector {
  constructor(private readonly engine: AcquireContext) {}

  async inspect(key: string): Promise<LockInfo | null> {
    const { engine } = this;
    const stored = await this.request(key, () => engine.session.inspect(key));
    const holders = stored?.holders.map((hold) => this.holderOf(key, hold)) ?? [];
    const [oldest] = holders;
    if (stored === null || oldest === undefined) return null;
    const waiters = this.waitersOf(key, stored.waiters);
    const waiting = waiters.reduce((sum, { callers }) => sum + callers, 0);
    const permits = permitsIn(stored);
    return { key, ...oldest, ...sharingOf(stored.limit), permits, holders, waiting, waiters };
  }

  /** Whether the lock is held, other than by a ticket of this process that no call needs any longer. */
  async isLocked(key: string): Promise<boolean> {
    const { lines, timers } = this.engine;
    const line = lines.get(key);
    const isLeaving = line !== undefined && line.leaving.size > 0;
    const isHeld = (await this.inspect(key)) !== null;
    if (!isHeld || !isLeaving) return isHeld;
    // Or the store has not replied for too long.
    await timers.within(SILENCE, line.idle());
    return (await this.inspect(key)) !== null;
  }

  /** One page of the held locks. Each is inspected separately, so they may be of different moments. */
  async list({ match, cursor, count }: ListKeysRequest): Promise<LockList> {
    const { session } = this.engine;
    const listed = await this.request(match, async () => {
      if (session.listKeys === undefined) return undefined;
      const { keys, cursor: next } = await session
        .listKeys({ match, cursor, count })
        .then(undefined, (error: unknown) => refusedToList(storeFailure(error), cursor));
      const stored = await this.inspectAll([...new Set(keys)]);
      return { locks: stored.filter((lock) => lock !== null), cursor: next };
    });
    if (listed !== undefined) return listed;
    throw new LockUnsupportedError(
      'list(): this store cannot list its locks. Inspect one by its key (inspect(), or show KEY of the command line), or use held() for the locks of this process.',
    );
  }

  /** A few at a time: renewals use the same connection, and must not wait for more than these. */
  private async inspectAll(keys: readonly string[]): Promise<readonly (LockInfo | null)[]> {
    const found: (LockInfo | null)[] = [];
    for (let first = 0; first < keys.length; first += INSPECTED_AT_ONCE) {
      const some = keys.slice(first, first + INSPECTED_AT_ONCE);
      found.push(...(await Promise.all(some.map((key) => this.inspect(key)))));
    }
    return found;
  }

  private holderOf(key: string, stored: StoredHold): LockHolder {
    const { engine } = this;
    const { owner } = stored;
    // The store knows the grant, this process the hold that uses it; of several readers, the oldest.
    const ticket = engine.tickets.byOwner.get(owner);
    const own = ticket?.state === 'held' && !ticket.isIdle && ticket.key === key ? ticket : undefined;
    const { token, acquiredAt, label } = own?.holders[0] ?? { ...stored, acquiredAt: stored.since };
    const isBound = engine.session.remainingIsBound === true;
    const remaining =
      isBound && own !== undefined ? engine.tickets.remaining(own) : (stored.leaseLeft ?? Infinity);
    return {
      owner,
      token,
      acquiredAt,
      remaining,
      expiresAt: engine.clock.wall() + remaining,
      remainingIsBound: isBound && own === undefined,
      permits: stored.permits,
      label,
      process: processOf(owner),
    };
  }

  /** Every caller of this process, for which the store has one entry. */
  private waitersOf(key: string, stored: readonly StoredWaiter[]): readonly LockWaiter[] {
    const { clientId, lines } = this.engine;
    const line = lines.get(key);
    const own = `${clientId}:`;
    const placed = new Set<Hold>();
    const waiterOf = ({ limit, permits, label }: Hold): LockWaiter => {
      return { callers: 1, ...sharingOf(limit), permits, label, process: processOf(own + '0') };
    };
    const waiters = stored.flatMap((waiter): LockWaiter[] => {
      const { owner, callers, limit, permits, label } = waiter;
      if (!owner.startsWith(own))
        return [{ callers, ...sharingOf(limit), permits, label, process: processOf(owner) }];
      const ticket = line?.waitingTickets.find((each) => each.owner === owner);
      const here = ticket === undefined ? [] : (line?.callersAt(ticket) ?? []);
      for (const caller of here) placed.add(caller);
      return here.map(waiterOf);
    });
    const others = [...(line?.waiting ?? [])].filter((caller) => !placed.has(caller));
    return [...waiters, ...others.map(waiterOf)];
  }

  async forceRelease(key: string, by?: string): Promise<boolean> {
    const wasHeld = await this.request(key, () => this.breakAll(key));
    if (wasHeld) this.engine.reporter.broken(key, by);
    return wasHeld;
  }

  async breakHold(key: string, hold: NamedHold, by?: string): Promise<LockBreakOutcome> {
    const outcome = await this.request(key, () => this.breakNamed(key, hold));
    if (outcome === 'broken') this.engine.reporter.broken(key, by);
    return outcome;
  }

  /**
   * Breaks one hold. The store knows only the first hold on a lease, so this process checks whether its own hold
   * still exists, and lets no other begin on its ticket meanwhile.
   */
  private async breakNamed(key: string, hold: NamedHold): Promise<BreakReply> {
    const { session, tickets } = this.engine;
    const ticket = [...tickets.held].find((each) => each.key === key && isOf(hold, each));
    if (ticket === undefined) return await session.breakHold(key, hold);
    if (!isThere(hold, ticket)) return (await session.inspect(key)) === null ? 'free' : 'held-by-others';
    const { owner } = ticket;
    return await this.breakOwn([ticket], () => session.breakHold(key, { owner }));
  }

  /** Breaks a lock with all of its holds; true if it was held. */
  private async breakAll(key: string): Promise<boolean> {
    const { session, tickets } = this.engine;
    const own = [...tickets.held].filter((ticket) => ticket.key === key);
    const wasHeld = (await this.breakOwn(own, () => session.breakHold(key))) === 'broken';
    // A lock that was granted meanwhile may be broken too.
    if (wasHeld) tickets.verify((each) => each === key);
    return wasHeld;
  }

  /**
   * No hold begins on tickets that are being broken, nor later if the request may still be carried out. Broken ones end
   * here at once: the store's message may be late, or lost.
   */
  private async breakOwn(own: readonly Ticket[], send: () => Promise<BreakReply>): Promise<BreakReply> {
    const { tickets } = this.engine;
    for (const ticket of own) ticket.breaks += 1;
    const verify = (): void => {
      for (const ticket of own) tickets.verifyOne(ticket, true);
    };
    try {
      const reply = await send();
      if (reply === 'broken') for (const { owner } of own) tickets.onBroken(owner);
      else verify();
      return reply;
    } catch (error) {
      if (storeFailure(error).inDoubt) verify();
      else for (const ticket of own) ticket.breaks -= 1;
      throw error;
    }
  }

  private async request<T>(key: string, send: () => Promise<T>): Promise<T> {
    const { engine } = this;
    if (engine.isClosing && engine.tickets.held.size === 0) throw engine.reporter.closed(key);
    if (!engine.isClosing) await engine.start();
    try {
      return await send();
    } catch (error) {
      if (error instanceof LockError) throw error;
      const subject = { key, operation: DEFAULT_OPERATION, limit: 1, permits: 1, label: undefined };
      throw engine.reporter.reported(engine.reporter.unavailable(subject, storeFailure(error)));
    }
  }
}

function permitsIn({ limit, holders }: StoredLock): LockPermits | undefined {
  if (!isOfSemaphore(limit)) return undefined;
  const held = permitsOf(holders);
  return { held, free: Math.max(0, limit - held) };
}

/** A store that refuses to list its locks, for example for a missing right, may still grant them. */
function refusedToList(failure: LockStoreError, cursor: string | undefined): never {
  if (failure instanceof InvalidCursorError) refuse('list()', CURSOR_RULE, cursor);
  const { unreachable, inDoubt, retryable, message } = failure;
  if (unreachable || inDoubt || retryable) throw failure;
  throw new LockUnavailableError(`list(): the store refused to list its locks: ${message}.`, {
    keys: [],
    cause: failure,
  });
}

/** Whether the hold uses the ticket, or did. */
function isOf({ owner, token }: NamedHold, ticket: Ticket): boolean {
  if (owner !== undefined) return owner === ticket.owner;
  return token === ticket.firstToken || isThere({ token }, ticket);
}

/** Not between two holds: the next one may begin before the store has replied. */
function isThere({ token }: NamedHold, ticket: Ticket): boolean {
  return token === undefined || ticket.holders.some((user) => user.token === token);
}
