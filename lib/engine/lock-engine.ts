import { BackgroundRetry } from '../common/background-retry.js';
import { type Clock, systemClock } from '../common/clock.js';
import { TimerQueue } from '../common/timer-queue.js';
import { detachedContext } from '../common/detached-context.js';
import type { LockHandle } from '../model/lock-handle.js';
import { type AnswerSettings, LockUnavailableError } from '../model/lock.errors.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import { forwardedBoard, verified } from '../stores/port/forwarding-session.js';
import type {
  LockBoard,
  LockStore,
  LockStoreClient,
  LockStoreSession,
  OwnerId,
} from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { acquire, type AcquireContext } from './acquire.js';
import { CallSites } from './report/call-site.js';
import { newClientId } from './report/client-id.js';
import { type EngineLog, EventHub, harmless } from './report/event-hub.js';
import type { Hold } from './hold.js';
import { Lines } from './line.js';
import { LockInspector } from './lock-inspector.js';
import { type KnownHolder, type LeaseLeft, LockReporter } from './report/lock-reporter.js';
import type { MultiHold } from './multi-hold.js';
import { Overview } from './overview.js';
import { ownHold } from './reentry.js';
import { currentHold } from './scope.js';
import { openInContext } from './session-in-context.js';
import { SeveralKeys } from './several.js';
import { Shutdown } from './shutdown.js';
import { StoreReporter } from './report/store-reporter.js';
import { Tickets } from './tickets.js';

export type { EngineLog } from './report/event-hub.js';

/** The module's options that the engine needs. All times are ms. */
export interface EngineSettings {
  /** The lease of locks without a `leaseTime`. */
  readonly watchdogTimeout: number;
  readonly shutdownTimeout: number;
  /** Age at which a hold is logged and reported; never if absent. */
  readonly warnHeldAfter?: number | undefined;
  /** Whether the application must not start while the store is not fit for locks. */
  readonly requireStoreAtStart?: boolean | undefined;
  /** The name of the module instance. */
  readonly instance?: string | undefined;
}

/** One for each module instance: creates the parts of the engine, which share it. */
export class LockEngine implements AcquireContext {
  readonly clientId = newClientId();
  readonly watchdogTimeout: number;
  readonly instance: string | undefined;
  readonly log: EngineLog;
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly storeReporter: StoreReporter;
  /** Ends of waits, and pauses between requests. */
  readonly timers: TimerQueue;
  readonly backgroundRetry: BackgroundRetry;
  readonly session: LockStoreSession;
  readonly tickets: Tickets;
  readonly lines: Lines = new Lines(this);
  readonly callSites: CallSites;
  readonly holderLookups = new Map<string, Promise<KnownHolder | undefined>>();
  readonly inspector = new LockInspector(this);
  readonly overview = new Overview(this);
  readonly shutdown: Shutdown;
  /** Where processes publish their state; undefined if the store has no board. */
  readonly board: LockBoard | undefined;
  /** How errors of this module instance are reported. */
  answers: AnswerSettings | undefined;
  isStarted = false;
  isClosing = false;
  /** Whether `shutdownTimeout` has passed. */
  isShutdownOverdue = false;
  private readonly isRequired: boolean;
  private owners = 0;
  private starting: Promise<void> | undefined;

  constructor(
    readonly store: LockStore,
    {
      watchdogTimeout,
      shutdownTimeout,
      warnHeldAfter = Infinity,
      requireStoreAtStart,
      instance,
    }: EngineSettings,
    log: EngineLog,
    readonly clock: Clock = store.clock ?? systemClock,
  ) {
    this.watchdogTimeout = watchdogTimeout;
    this.isRequired = requireStoreAtStart === true;
    this.instance = instance;
    this.log = harmless(log);
    const isDevelopment = process.env['NODE_ENV'] !== 'production';
    this.callSites = new CallSites(clock, warnHeldAfter !== Infinity && isDevelopment);
    this.hub = new EventHub(this.log, instance);
    this.timers = new TimerQueue(clock, true);
    this.storeReporter = new StoreReporter(this.hub, clock, this.log, store, this.timers);
    this.reporter = new LockReporter(this.hub, clock, this.log, this.storeReporter);
    this.backgroundRetry = new BackgroundRetry(clock, this.timers, (error) => storeFailure(error).inDoubt);
    this.session = openInContext(store, this.client(), instance);
    this.tickets = new Tickets(this, warnHeldAfter);
    this.shutdown = new Shutdown(this, shutdownTimeout);
    const { board } = this.session;
    // Requests at the start of the application wait for the connection.
    this.board =
      board &&
      forwardedBoard((request) => this.start().then(() => detachedContext.run(() => request(board))));
  }

  /**
   * Connects, once. Never rejects, since an application starts even if its store is down; calls fail until the
   * store is reachable.
   */
  start(): Promise<void> {
    if (this.isClosing) return Promise.resolve();
    this.starting ??= detachedContext.run(() => this.connect());
    return this.starting;
  }

  /** @throws LockUnavailableError if the application requires its store at the start, and it is not fit for locks */
  async assertFit(): Promise<void> {
    if (!this.isRequired) return;
    try {
      await verified(this.session);
    } catch (error) {
      const cause = storeFailure(error);
      throw new LockUnavailableError(
        `The store of the locks is not fit for them, and requireStoreAtStart is set: ${cause.advice}`,
        { keys: [], cause },
      );
    }
  }

  /** Acquires a lock, or throws. */
  acquire(key: string, options: ResolvedLockOptions): Promise<Hold> {
    return acquire(this, key, options, this.clock.monotonic());
  }

  /** Acquires all of these locks, or throws. The keys are sorted, without duplicates. */
  acquireAll(keys: readonly string[], options: ResolvedLockOptions): Promise<MultiHold> {
    return new SeveralKeys(this, keys, options).run();
  }

  /**
   * The innermost hold that the calling code owns, of this key or of any.
   *
   * @throws LockLostError if that hold was lost
   */
  current(key?: string): LockHandle | undefined {
    return currentHold(this, key);
  }

  /** The innermost hold of a key that the calling code owns or has lost. */
  owned(key: string): Hold | undefined {
    return ownHold(this, key) ?? ownHold(this, key, true);
  }

  /** Ends everything. Call it when everything that uses locks has stopped. */
  close(): Promise<void> {
    return this.shutdown.close();
  }

  nextOwner(): OwnerId {
    this.owners += 1;
    return `${this.clientId}:${String(this.owners)}` as OwnerId;
  }

  leaseLeft(ms: number | undefined): LeaseLeft | undefined {
    return ms === undefined ? undefined : { ms, isBound: this.session.remainingIsBound === true };
  }

  private async connect(): Promise<void> {
    const { session, store, instance, storeReporter } = this;
    const introduce = (): void => {
      const about = session.description === undefined ? '' : ` (${session.description})`;
      const where = store.place === undefined ? '' : `, ${store.place}`;
      const whose = instance === undefined ? '' : ` of ${JSON.stringify(instance)}`;
      this.log.log(`Locks${whose} are kept in ${store.name}${about}${where}, as client ${this.clientId}.`);
    };
    try {
      await session.start();
      storeReporter.requestEnded(undefined);
      introduce();
    } catch (error) {
      storeReporter.missing(storeFailure(error), introduce);
    }
    this.isStarted = true;
  }

  /** The callbacks of the store. */
  private client(): LockStoreClient {
    const { lines, storeReporter } = this;
    const pollNow = (): void => {
      lines.pollNow();
      this.backgroundRetry.retryNow();
      this.tickets.retryNow();
    };
    return {
      id: this.clientId,
      watchdogTimeout: this.watchdogTimeout,
      now: () => this.clock.monotonic(),
      granted: (owner, grant) => {
        const ticket = this.tickets.byOwner.get(owner);
        ticket?.line.onPushed(ticket, grant);
      },
      heldByOthers: (owner, holderLeaseLeft) => {
        const ticket = this.tickets.byOwner.get(owner);
        ticket?.line.onHeldByOthers(ticket, holderLeaseLeft);
      },
      isWanted: (owner) => this.tickets.byOwner.get(owner)?.caller !== undefined,
      broken: (owner) => {
        this.tickets.onBroken(owner);
      },
      pollNow,
      reconnected: (concerns) => {
        this.tickets.verify(concerns);
        pollNow();
      },
      locksLocally: (isLocal, cause) => {
        storeReporter.locksLocally(isLocal, cause);
      },
      warn: (message) => {
        this.log.warn(message);
      },
    };
  }
}
