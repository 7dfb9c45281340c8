import { BackgroundRetry } from '../common/background-retry.js';
import type { Clock } from '../common/clock.js';
import { TimerQueue } from '../common/timer-queue.js';
import type { LockStore, LockStoreClient, LockStoreSession, OwnerId } from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { newClientId } from './client-id.js';
import { CallSites } from './events/call-site.js';
import type { EngineLog } from './events/engine-log.js';
import { EventHub } from './events/event-hub.js';
import { LeaseReporter } from './events/lease-reporter.js';
import { LockReporter, type LeaseLeft, type KnownHolder } from './events/lock-reporter.js';
import { StoreReporter } from './events/store-reporter.js';
import { Leases } from './lease/leases.js';
import { Withdrawal } from './lease/withdrawal.js';
import { openInContext } from './scope/session-in-context.js';

/** What all parts of one engine share. They take this, or less, and never the engine itself. */
export class EngineContext {
  readonly clientId = newClientId();
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly storeReporter: StoreReporter;
  readonly leaseReporter: LeaseReporter;
  /** Times at which somebody gives up waiting, and pauses between requests. */
  readonly timers: TimerQueue;
  readonly backgroundRetry: BackgroundRetry;
  readonly session: LockStoreSession;
  readonly leases: Leases;
  /** Requests for the holder of a key that are under way: one for all callers of a key that time out together. */
  readonly holderLookups = new Map<string, Promise<KnownHolder | undefined>>();
  /** Whether the store has been asked to connect, and has or has failed. */
  isStarted = false;
  /** Whether calls are refused. */
  isClosing = false;
  /** Whether the time of shutdown is over, so that nobody may wait without limit any more. */
  isOverdue = false;
  readonly callSites: CallSites;
  private owners = 0;
  private starting: Promise<void> | undefined;

  /** @param client what the store may tell the engine */
  constructor(
    private readonly store: LockStore,
    /** The lease of locks that the watchdog renews, ms. */
    readonly watchdogTimeout: number,
    readonly log: EngineLog,
    readonly clock: Clock,
    client: (context: EngineContext) => LockStoreClient,
    /** The name of the module instance. */
    readonly instance?: string,
    warnHeldAfter = Infinity,
  ) {
    this.callSites = new CallSites(
      clock,
      warnHeldAfter !== Infinity && process.env['NODE_ENV'] !== 'production',
    );
    this.hub = new EventHub(log, instance);
    this.timers = new TimerQueue(clock, true);
    this.storeReporter = new StoreReporter(this.hub, clock, log, store, this.timers);
    this.reporter = new LockReporter(this.hub, clock, log, this.storeReporter);
    this.backgroundRetry = new BackgroundRetry(clock, this.timers, (error) => storeFailure(error).inDoubt);
    this.session = openInContext(store, client(this), instance);
    this.leaseReporter = new LeaseReporter(this.hub, this.storeReporter, clock, log);
    this.leases = new Leases(
      this.session,
      clock,
      this.leaseReporter,
      this.backgroundRetry,
      watchdogTimeout,
      warnHeldAfter,
    );
  }

  /**
   * Connects; called by the first to need it. An application starts even if its store is down (B6), so this never
   * rejects: locks fail until the store is there.
   */
  start(): Promise<void> {
    if (this.isClosing) return Promise.resolve();
    this.starting ??= this.hub.context.run(() => this.connect());
    return this.starting;
  }

  private async connect(): Promise<void> {
    const { session, store } = this;
    const introduce = (): void => {
      const about = session.description === undefined ? '' : ` (${session.description})`;
      const where = store.place === undefined ? '' : `, ${store.place}`;
      const whose = this.instance === undefined ? '' : ` of ${JSON.stringify(this.instance)}`;
      this.log.log(`Locks${whose} are kept in ${store.name}${about}${where}, as client ${this.clientId}.`);
    };
    try {
      await session.start();
      this.storeReporter.heard(undefined);
      introduce();
    } catch (error) {
      this.storeReporter.missing(storeFailure(error), introduce);
    }
    this.isStarted = true;
  }

  /** An id for one acquisition, used once (P30). */
  nextOwner(): OwnerId {
    this.owners += 1;
    return `${this.clientId}:${String(this.owners)}` as OwnerId;
  }

  /** What the store reported of a holder's lease. */
  leaseLeft(ms: number | undefined): LeaseLeft | undefined {
    return ms === undefined ? undefined : { ms, isBound: this.session.remainingIsBound === true };
  }

  /** Takes an owner back from the store; resolves when that is done, or goes on in the background. */
  withdraw(key: string, owner: OwnerId, inDoubt: boolean): Promise<void> {
    return this.backgroundRetry.run(new Withdrawal(this.session, { key, owner, inDoubt })).promise;
  }

  /** Counts work among what shutdown waits for a moment. */
  track(work: Promise<unknown>): void {
    void this.backgroundRetry.track(work);
  }
}
