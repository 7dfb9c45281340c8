import { BackgroundRetry } from '../common/background-retry.js';
import type { Clock } from '../common/clock.js';
import { TimerQueue } from '../common/timer-queue.js';
import type { LockStore, LockStoreClient, LockStoreSession, OwnerId } from '../stores/port/lock-store.js';
import { storeFailure } from '../stores/port/store-failure.js';
import { CallSites } from './call-site.js';
import { newClientId } from './client-id.js';
import type { EngineLog } from './engine-log.js';
import { EventHub } from './event-hub.js';
import { LeaseReporter } from './lease-reporter.js';
import { Withdrawal } from './lease-requests.js';
import { Leases } from './leases.js';
import { type KnownHolder, type LeaseLeft, LockReporter } from './lock-reporter.js';
import { openInContext } from './session-in-context.js';
import { StoreReporter } from './store-reporter.js';

/** What all parts of one engine share. */
export class EngineContext {
  readonly clientId = newClientId();
  readonly hub: EventHub;
  readonly reporter: LockReporter;
  readonly storeReporter: StoreReporter;
  readonly leaseReporter: LeaseReporter;
  /** Ends of waits, and pauses between requests. */
  readonly timers: TimerQueue;
  readonly backgroundRetry: BackgroundRetry;
  readonly session: LockStoreSession;
  readonly leases: Leases;
  /** Lookups of a key's holder under way: one for all callers of a key that time out together. */
  readonly holderLookups = new Map<string, Promise<KnownHolder | undefined>>();
  /** Whether the session has connected, or has failed to. */
  isStarted = false;
  /** Whether new calls are refused. */
  isClosing = false;
  /** Whether `shutdownTimeout` is over, so that no call may wait without limit. */
  isOverdue = false;
  readonly callSites: CallSites;
  private owners = 0;
  private starting: Promise<void> | undefined;

  /** @param client what the store calls back */
  constructor(
    private readonly store: LockStore,
    /** The lease of locks without a `leaseTime`, ms. */
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
   * Connects, once. Never rejects, since an application starts even if its store is down (B6); locks fail until the store can
   * be reached.
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

  /** An owner id, used for one acquisition (P30). */
  nextOwner(): OwnerId {
    this.owners += 1;
    return `${this.clientId}:${String(this.owners)}` as OwnerId;
  }

  /** What the store reported about a holder's lease. */
  leaseLeft(ms: number | undefined): LeaseLeft | undefined {
    return ms === undefined ? undefined : { ms, isBound: this.session.remainingIsBound === true };
  }

  /** Removes an owner from the store; resolves when that is done, or goes on in the background. */
  withdraw(key: string, owner: OwnerId, inDoubt: boolean): Promise<void> {
    return this.backgroundRetry.run(new Withdrawal(this.session, { key, owner, inDoubt })).promise;
  }

  /** Shutdown waits a moment for this work. */
  track(work: Promise<unknown>): void {
    void this.backgroundRetry.track(work);
  }
}
