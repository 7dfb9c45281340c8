import { systemClock, type Clock } from '../common/clock.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { ResolvedLockOptions } from '../model/resolved-lock.options.js';
import { forwardedBoard } from '../stores/port/forwarding-session.js';
import type { LockBoard, LockStore, LockStoreClient } from '../stores/port/lock-store.js';
import { AcquireContext } from './acquire/acquire-context.js';
import { acquire } from './acquire/acquire.js';
import { MultiAcquire } from './acquire/multi-acquire.js';
import { EngineContext } from './context.js';
import { harmless, type EngineLog } from './events/engine-log.js';
import type { Hold } from './hold/hold.js';
import type { MultiHold } from './hold/multi-hold.js';
import { ownHold } from './hold/reenter.js';
import { LockInspector } from './lock-inspector.js';
import { Overview } from './overview.js';
import { LocalQueues } from './queue/local-queues.js';
import { innermostOwner } from './scope/scope.js';
import { Shutdown } from './shutdown.js';

/** What the engine needs to know of the module's options. All times are ms. */
export interface EngineSettings {
  readonly watchdogTimeout: number;
  readonly shutdownTimeout: number;
  /** After how long a hold is logged and reported; never if left out. */
  readonly warnHeldAfter?: number | undefined;
  /** The name of the module instance. */
  readonly instance?: string | undefined;
}

/** Puts the parts of the engine together. There is one for each instance of the module. */
export class LockEngine {
  readonly context: EngineContext;
  readonly inspector: LockInspector;
  readonly shutdown: Shutdown;
  readonly overview: Overview;
  /** Where processes tell each other how they are; undefined if the store has no such place. */
  readonly board: LockBoard | undefined;
  private readonly queues: LocalQueues;
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
    this.queues = new LocalQueues(this.context);
    this.acquiring = new AcquireContext(this.context, this.queues);
    this.inspector = new LockInspector(this.context, this.queues);
    this.overview = new Overview(this.acquiring, settings.instance);
    const { board } = this.context.session;
    // What is asked when the application starts waits for the connection.
    this.board = board && forwardedBoard((request) => this.context.start().then(() => request(board)));
    this.shutdown = new Shutdown(this.acquiring, settings.shutdownTimeout);
  }

  /** Connects; never rejects. */
  start(): Promise<void> {
    return this.context.start();
  }

  /** Takes a lock, or throws. */
  acquire(key: string, options: ResolvedLockOptions): Promise<Hold> {
    return acquire(this.acquiring, key, options, this.context.clock.monotonic());
  }

  /** Takes all of these locks, or throws. The keys are sorted and differ. */
  acquireAll(keys: readonly string[], options: ResolvedLockOptions): Promise<MultiHold> {
    return new MultiAcquire(this.acquiring, keys, options).run();
  }

  /** The innermost hold that the running code owns, of a key or of any. */
  current(key?: string): LockHandle | undefined {
    return key === undefined ? innermostOwner(this.context) : ownHold(this.context, key);
  }

  /** The innermost hold of a key that the running code owns or has lost. */
  owned(key: string): Hold | undefined {
    return ownHold(this.context, key) ?? ownHold(this.context, key, true);
  }

  /** Ends everything (B60): call it when all that uses locks has been stopped. */
  close(): Promise<void> {
    return this.shutdown.close();
  }

  /** What the store may tell. */
  private clientOf(context: EngineContext): LockStoreClient {
    const askAgain = (): void => {
      this.queues.wake();
      context.backgroundRetry.retryNow();
      context.leases.watchdog.retryNow();
    };
    return {
      id: context.clientId,
      watchdogTimeout: context.watchdogTimeout,
      now: () => context.clock.monotonic(),
      granted: (owner, grant) => this.queues.ticketOf(owner)?.push(grant),
      heldByOthers: (owner, holderLeaseLeft) => {
        this.queues.ticketOf(owner)?.heldByOthers(holderLeaseLeft);
        this.acquiring.heldByOthers(owner);
      },
      heldBack: (owner) => this.queues.ticketOf(owner)?.heldBack(),
      resumes: (owner) => this.queues.ticketOf(owner)?.resumes() === true,
      broken: (owner) => {
        this.queues.ticketOf(owner)?.broken();
        this.acquiring.broken(owner);
        context.leases.broken(owner);
      },
      askAgain,
      reconnected: (concerns) => {
        context.leases.verify(concerns);
        askAgain();
      },
      degraded: (isLocal, cause) => void context.storeReporter.degraded(isLocal, cause),
      warn: (message) => {
        context.log.warn(message);
      },
    };
  }
}
