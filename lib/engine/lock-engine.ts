import { type Clock, systemClock } from '../common/clock.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import { forwardedBoard } from '../stores/port/forwarding-session.js';
import type { LockBoard, LockStore, LockStoreClient } from '../stores/port/lock-store.js';
import { acquire, AcquireContext } from './acquire.js';
import { EngineContext } from './context.js';
import { type EngineLog, harmless } from './engine-log.js';
import type { Hold } from './hold.js';
import { KeyRunners } from './key-runner.js';
import { LockInspector } from './lock-inspector.js';
import { MultiAcquire } from './multi-acquire.js';
import type { MultiHold } from './multi-hold.js';
import { Overview } from './overview.js';
import { ownHold } from './reenter.js';
import { innermostOwner } from './scope.js';
import { Shutdown } from './shutdown.js';

/** The module's options, as far as the engine needs them. All times are ms. */
export interface EngineSettings {
  readonly watchdogTimeout: number;
  readonly shutdownTimeout: number;
  /** Age at which a hold is logged and reported; never if left out. */
  readonly warnHeldAfter?: number | undefined;
  /** The name of the module instance. */
  readonly instance?: string | undefined;
}

/** Wires the parts of the engine. One for each instance of the module. */
export class LockEngine {
  readonly context: EngineContext;
  readonly inspector: LockInspector;
  readonly shutdown: Shutdown;
  readonly overview: Overview;
  /** Where processes publish their state; undefined if the store has no such place. */
  readonly board: LockBoard | undefined;
  private readonly keys: KeyRunners;
  private readonly acquiring: AcquireContext;

  constructor(
    store: LockStore,
    settings: EngineSettings,
    log: EngineLog,
    clock: Clock = store.clock ?? systemClock,
  ) {
    const client = (context: EngineContext): LockStoreClient => this.clientOf(context);
    this.context = new EngineContext(
      store,
      settings.watchdogTimeout,
      harmless(log),
      clock,
      client,
      settings.instance,
      settings.warnHeldAfter,
    );
    this.keys = new KeyRunners(this.context);
    this.acquiring = new AcquireContext(this.context, this.keys);
    this.inspector = new LockInspector(this.context, this.keys);
    this.overview = new Overview(this.acquiring, settings.instance);
    const { board } = this.context.session;
    // Requests at the start of the application wait for the connection.
    this.board = board && forwardedBoard((request) => this.context.start().then(() => request(board)));
    this.shutdown = new Shutdown(this.acquiring, settings.shutdownTimeout);
  }

  /** Connects; never rejects. */
  start(): Promise<void> {
    return this.context.start();
  }

  /** Acquires a lock, or throws. */
  acquire(key: string, options: ResolvedLockOptions): Promise<Hold> {
    return acquire(this.acquiring, key, options, this.context.clock.monotonic());
  }

  /** Acquires all of these locks, or throws. The keys are sorted, without duplicates. */
  acquireAll(keys: readonly string[], options: ResolvedLockOptions): Promise<MultiHold> {
    return new MultiAcquire(this.acquiring, keys, options).run();
  }

  /** The innermost hold that the calling code owns, of that key or of any. */
  current(key?: string): LockHandle | undefined {
    return key === undefined ? innermostOwner(this.context) : ownHold(this.context, key);
  }

  /** The innermost hold of a key that the calling code owns or has lost. */
  owned(key: string): Hold | undefined {
    return ownHold(this.context, key) ?? ownHold(this.context, key, true);
  }

  /** Ends everything (B60). Call it when everything that uses locks has stopped. */
  close(): Promise<void> {
    return this.shutdown.close();
  }

  /** What the store calls back. */
  private clientOf(context: EngineContext): LockStoreClient {
    const pollNow = (): void => {
      this.keys.pollNow();
      context.backgroundRetry.retryNow();
      context.leases.watchdog.retryNow();
    };
    return {
      id: context.clientId,
      watchdogTimeout: context.watchdogTimeout,
      now: () => context.clock.monotonic(),
      granted: (owner, grant) => {
        this.keys.tell(owner, (queue, entry, now) => {
          queue.push(entry, grant, now);
        });
      },
      heldByOthers: (owner, holderLeaseLeft) => {
        this.keys.tell(owner, (queue, entry, now) => {
          queue.heldByOthers(entry, holderLeaseLeft, now);
          context.storeReporter.answered();
        });
        this.acquiring.heldByOthers(owner);
      },
      heldBack: (owner) => {
        this.keys.tell(owner, (_, entry) => {
          entry.isHeldBack = true;
        });
      },
      resumes: (owner) => this.keys.resumes(owner),
      broken: (owner) => {
        this.keys.tell(owner, (queue, entry, now) => {
          queue.broken(entry, now);
        });
        this.acquiring.broken(owner);
        context.leases.broken(owner);
      },
      pollNow,
      reconnected: (concerns) => {
        context.leases.verify(concerns);
        pollNow();
      },
      degraded: (isLocal, cause) => void context.storeReporter.degraded(isLocal, cause),
      warn: (message) => {
        context.log.warn(message);
      },
    };
  }
}
