import { LockOptionsError, LockUnavailableError } from '../model/lock.errors.js';
import { CURSOR_RULE, type LockBreakOptions, type LockBreakOutcome } from '../model/inspect.options.js';
import type { LockHolder, LockInfo, LockList, LockWaiter } from '../model/lock-info.js';
import { refuse } from '../model/option-checks.js';
import { DEFAULT_NAME } from '../model/lock-kind.js';
import {
  InvalidCursorError,
  type ListKeysRequest,
  type LockStoreError,
  type OwnerId,
  type StoredHold,
  type StoredWaiter,
} from '../stores/port/lock-store.js';
import { sharingOf } from './events/event-subject.js';
import type { Waiter } from './queue/waiter.js';
import { processOf } from './client-id.js';
import type { LocalQueues } from './queue/local-queues.js';
import type { EngineContext } from './context.js';
import { breakAll, breakNamedHold } from './hold/break-named-hold.js';
import { storeFailure } from '../stores/port/store-failure.js';

/** How many of the locks that `list()` found are looked at together. */
const INSPECTED_AT_ONCE = 16;

/** What is asked of the store once and at once, besides locks: a failure is the caller's to know. */
export class LockInspector {
  constructor(
    private readonly engine: EngineContext,
    private readonly queues: LocalQueues,
  ) {}

  async inspect(key: string): Promise<LockInfo | null> {
    const { engine } = this;
    const stored = await this.ask(key, () => engine.session.inspect(key));
    const holders = stored?.holders.map((hold) => this.holderOf(key, hold)) ?? [];
    const [oldest] = holders;
    if (stored === null || oldest === undefined) return null;
    const waiters = this.waitersOf(key, stored.waiters);
    const waiting = waiters.reduce((sum, { callers }) => sum + callers, 0);
    return { key, ...oldest, ...sharingOf(stored.limit), holders, waiting, waiters };
  }

  /** Some of the locks that are held, as the store knows them. Not all of one moment: each is looked at by itself. */
  async list({ match, cursor, count }: ListKeysRequest): Promise<LockList> {
    const { session } = this.engine;
    const listed = await this.ask(match, async () => {
      if (session.listKeys === undefined) return undefined;
      const { keys, cursor: next } = await session
        .listKeys({ match, cursor, count })
        .catch((error: unknown) => refusedToList(storeFailure(error), cursor));
      const stored = await this.inspectAll([...new Set(keys)]);
      return { locks: stored.filter((lock) => lock !== null), cursor: next };
    });
    if (listed !== undefined) return listed;
    throw new LockOptionsError(
      'list(): this store does not tell which locks it has. Ask for one by its key (inspect(), or show KEY of the command line), or see held() for those of this process.',
    );
  }

  /** A few at a time, so that a renewal never waits for more than these on a connection that it shares with them. */
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
    // The store knows of the grant, this process of the hold that lives on it (P20): the oldest of several readers.
    const own = this.queues.queueOf(key)?.leases.of(owner);
    const { token, acquiredAt, label } = own?.holders[0] ?? { ...stored, acquiredAt: stored.since };
    const isBound = engine.session.remainingIsBound === true;
    const remaining =
      isBound && own !== undefined ? engine.leases.remaining(own) : (stored.leaseLeft ?? Infinity);
    return {
      owner,
      token,
      acquiredAt,
      remaining,
      expiresAt: engine.clock.wall() + remaining,
      remainingIsBound: isBound && own === undefined,
      label,
      process: processOf(owner),
    };
  }

  /** Of this process every caller, where the store has one place for all of them. */
  private waitersOf(key: string, stored: readonly StoredWaiter[]): readonly LockWaiter[] {
    const { engine, queues } = this;
    const own = `${engine.clientId}:`;
    const placed = new Set<Waiter>();
    const waiterOf = ({ limit, label }: Waiter): LockWaiter => {
      return { callers: 1, ...sharingOf(limit), label, process: processOf(own + '0') };
    };
    const waiters = stored.flatMap(({ owner, callers, limit, label }): LockWaiter[] => {
      if (!owner.startsWith(own)) return [{ callers, ...sharingOf(limit), label, process: processOf(owner) }];
      const here = queues.ticketOf(owner as OwnerId)?.callers ?? [];
      for (const caller of here) placed.add(caller);
      return here.map(waiterOf);
    });
    return [
      ...waiters,
      ...queues
        .callersOf(key)
        .filter((caller) => !placed.has(caller))
        .map(waiterOf),
    ];
  }

  async forceRelease(key: string, { by }: LockBreakOptions = {}): Promise<boolean> {
    const { engine } = this;
    const wasHeld = await this.ask(key, () => breakAll(engine, key));
    if (wasHeld) engine.reporter.broken(key, by);
    return wasHeld;
  }

  async breakHold(key: string, { by, owner, token }: LockBreakOptions): Promise<LockBreakOutcome> {
    const { engine } = this;
    const outcome = await this.ask(key, () => breakNamedHold(engine, key, { owner, token }));
    if (outcome === 'broken') engine.reporter.broken(key, by);
    return outcome;
  }

  private async ask<T>(key: string, question: () => Promise<T>): Promise<T> {
    const { engine } = this;
    if (engine.isClosing && engine.leases.all.size === 0) throw engine.reporter.closed(key);
    if (!engine.isClosing) await engine.start();
    try {
      return await question();
    } catch (error) {
      if (error instanceof LockUnavailableError || error instanceof LockOptionsError) throw error;
      const subject = { key, name: DEFAULT_NAME, limit: 1, label: undefined };
      throw engine.reporter.told(engine.reporter.unavailable(subject, storeFailure(error)));
    }
  }
}

/** A store that refuses to list its locks, such as for want of a right, may give them out all the same. */
function refusedToList(failure: LockStoreError, cursor: string | undefined): never {
  if (failure instanceof InvalidCursorError) refuse('list()', CURSOR_RULE, cursor);
  const { unreachable, inDoubt, retryable, message } = failure;
  if (unreachable || inDoubt || retryable) throw failure;
  throw new LockUnavailableError(`list(): the store does not tell which locks it has: ${message}.`, {
    keys: [],
    cause: failure,
  });
}
