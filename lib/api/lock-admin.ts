import type { Observable } from 'rxjs';
import type { LockEngine } from '../engine/lock-engine.js';
import {
  checkBreakOptions,
  checkNamedHold,
  resolveListOptions,
  type LockBreakOptions,
  type LockBreakOutcome,
} from '../model/inspect.options.js';
import { requestFrom } from '../model/lock.errors.js';
import { checkReceiver } from '../model/option-checks.js';
import type { LockEvent } from '../model/lock.events.js';
import type { LockInfo, LockList, LockListOptions } from '../model/lock-info.js';
import { checkKey } from '../model/lock-key.js';
import type { HeldLock, LockStatus, LostLock, WaitingCall } from '../model/lock-status.js';
import type { LockBoard, NamedHold } from '../stores/port/lock-store.js';

/**
 * Inspects and breaks locks, for health checks, dashboards and scripts. Inject it; `DistributedLockModule` provides one
 * for each `LockService`.
 *
 * `inspect`, `list`, `forceRelease` and `breakHold` use the store. They throw a {@link LockOptionsError} for an invalid
 * key or option before anything is sent, a `LockUnavailableError` when the store is unreachable, and a `LockClosedError`
 * once the application has shut down everything that uses locks. The other methods return what this process knows, and
 * never throw; only `probe` sends a request.
 */
export class LockAdmin {
  constructor(private readonly engine: LockEngine) {}

  /** The holders and waiters of the lock; null if it is free. */
  async inspect(key: string): Promise<LockInfo | null> {
    checkReceiver(this, 'inspect', 'LockAdmin', 'admin');
    return await requestFrom(this.engine, () => this.engine.inspector.inspect(checkKey('inspect()', key)));
  }

  /**
   * A page of the held locks, and a cursor for the next page. Locks acquired or released meanwhile may be missing or
   * appear twice. The store scans all locks under the prefix, so don't call this while handling requests.
   *
   * @throws LockOptionsError for invalid options; LockUnsupportedError if the store cannot list its locks;
   * LockUnavailableError if the store is unreachable or refuses to list them
   */
  async list(options: LockListOptions = {}): Promise<LockList> {
    checkReceiver(this, 'list', 'LockAdmin', 'admin');
    const resolved = resolveListOptions(options);
    return await requestFrom(this.engine, () => this.engine.inspector.list(resolved));
  }

  /** The locks that this process holds through this module instance, oldest hold first. Sends no request. */
  held(): readonly HeldLock[] {
    checkReceiver(this, 'held', 'LockAdmin', 'admin');
    return this.engine.overview.held();
  }

  /** The calls of this process that wait for a lock of this module instance, longest wait first. Sends no request. */
  waiting(): readonly WaitingCall[] {
    checkReceiver(this, 'waiting', 'LockAdmin', 'admin');
    return this.engine.overview.waiting();
  }

  /** The holds that this process lost in the last five minutes, at most 100, newest first. Sends no request. */
  lost(): readonly LostLock[] {
    checkReceiver(this, 'lost', 'LockAdmin', 'admin');
    return this.engine.overview.lost();
  }

  /**
   * The state of the store and of this process's locks, as far as this process knows. Sends no request; see {@link probe}.
   */
  status(): LockStatus {
    checkReceiver(this, 'status', 'LockAdmin', 'admin');
    return this.engine.overview.status();
  }

  /**
   * Sends a request to the store and returns the {@link status} after it. Writes nothing, unless calls have failed
   * because of the store and no lock has been granted since: then it also acquires and releases a lock of its own. Never
   * throws; takes as long as these requests may take.
   */
  async probe(): Promise<LockStatus> {
    checkReceiver(this, 'probe', 'LockAdmin', 'admin');
    await this.engine.overview.probe();
    return this.engine.overview.status();
  }

  /**
   * Breaks the lock for all its holders: all readers, or all permits of a semaphore. The next waiter acquires it. The
   * holder's work continues and its handle reports the loss, but only fencing tokens prevent its writes. Returns
   * whether the lock was held; if so, emits a `broken` event and, with `by`, logs a line. To break one hold, use
   * {@link breakHold}.
   */
  async forceRelease(key: string, options: LockBreakOptions = {}): Promise<boolean> {
    checkReceiver(this, 'forceRelease', 'LockAdmin', 'admin');
    const by = checkBreakOptions('forceRelease()', options);
    return await requestFrom(this.engine, () =>
      this.engine.inspector.forceRelease(checkKey('forceRelease()', key), by),
    );
  }

  /**
   * Breaks only one hold: the one with this `owner`, this `token`, or both, such as a holder that {@link inspect}
   * returned. Later holds, readers of other processes and other permits of a semaphore stay. The store compares and
   * breaks in one step.
   *
   * The holder's work continues, as with {@link forceRelease}.
   *
   * @throws LockOptionsError for invalid options, or without an owner and a token
   */
  async breakHold(key: string, hold: NamedHold, options: LockBreakOptions = {}): Promise<LockBreakOutcome> {
    checkReceiver(this, 'breakHold', 'LockAdmin', 'admin');
    const named = checkNamedHold('breakHold()', hold);
    const by = checkBreakOptions('breakHold()', options);
    return await requestFrom(this.engine, () =>
      this.engine.inspector.breakHold(checkKey('breakHold()', key), named, by),
    );
  }
}

/** The events of this process, and the board on which processes publish their state (undefined if the store has none). */
export function sourcesOf(admin: LockAdmin): {
  readonly events: Observable<LockEvent>;
  readonly board: LockBoard | undefined;
} {
  // Only the rest of the library may use the engine.
  const { engine } = admin as unknown as { readonly engine: LockEngine };
  return { events: engine.hub.events, board: engine.board };
}
