import type { Observable, Subscription } from 'rxjs';
import { sourcesOf, type LockAdmin } from '../api/lock-admin.js';
import type { LockBreakOutcome } from '../model/inspect.options.js';
import type { LockEvent } from '../model/lock.events.js';
import type { LockHolder, LockInfo } from '../model/lock-info.js';
import type { LockBoard } from '../stores/port/lock-store.js';
import { isListed, parseSnapshot, snapshotOf, textOf } from './to-wire.js';
import { laterTokens, type BreakRequest, type ListedEvent, type ProcessSnapshot } from './wire.js';

/** How often a process checks for visitors and, if there are any, publishes a snapshot, ms. */
const REPORT_INTERVAL = 5_000;
/** How long a snapshot is kept, and how long a visitor counts as present, ms. */
const TTL = 3 * REPORT_INTERVAL;
const MOST_EVENTS = 200;

/** Publishes snapshots of one module instance of this process to the pages of all processes. */
export class ProcessReport {
  private readonly events: RecentEvents;
  /** Passes snapshots from process to process; undefined if the store has no board. */
  readonly board: LockBoard | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Until when a visitor of this process's page counts as present, ms of the monotonic clock. */
  private viewedUntil = -Infinity;
  /** The latest publication. */
  private published: Promise<void> | undefined;
  /** Until when the published snapshot may exist, ms of the monotonic clock. */
  private publishedUntil = -Infinity;
  private hasStopped = false;

  constructor(readonly admin: LockAdmin) {
    const { events, board } = sourcesOf(admin);
    this.events = new RecentEvents(events);
    this.board = board;
  }

  start(): void {
    this.timer = setInterval(() => void this.report(), REPORT_INTERVAL);
    this.timer.unref();
    void this.report();
  }

  /** Withdraws the snapshot, since a process that has ended holds no locks. Never rejects. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    clearInterval(this.timer);
    this.events.stop();
    if (performance.now() >= this.publishedUntil) return;
    await this.published?.catch(() => undefined);
    await this.board?.publish(this.admin.status().clientId, '', 1).catch(() => undefined);
  }

  /** Publishes a snapshot if there are visitors; otherwise writes nothing. Never rejects. */
  async report(): Promise<void> {
    const { board, events } = this;
    try {
      const isWatched = (await board?.isWatched()) === true;
      if (this.hasStopped) return;
      if (isWatched || performance.now() < this.viewedUntil) events.start();
      else events.stop();
      if (!isWatched) return;
      const snapshot = this.snapshot();
      this.publishedUntil = performance.now() + TTL;
      this.published = board?.publish(snapshot.client, textOf(snapshot), TTL);
      await this.published;
    } catch {
      // The store is unreachable. The page shows the age of the last snapshot, and the locks log the error.
      if (performance.now() >= this.viewedUntil) events.stop();
    }
  }

  /** Marks a visitor of this process's page as present. */
  async view(): Promise<void> {
    const now = performance.now();
    const isFirst = now >= this.viewedUntil;
    this.viewedUntil = now + TTL;
    this.events.start();
    await this.board?.watch(TTL);
    // Visitors of other processes' pages need not wait for the next interval.
    if (isFirst) void this.report();
  }

  snapshot(): ProcessSnapshot {
    return snapshotOf(this.admin, this.events.list());
  }

  /** The published snapshots of all processes. */
  async others(): Promise<readonly ProcessSnapshot[]> {
    const texts = (await this.board?.read()) ?? [];
    return texts.map(parseSnapshot).filter((snapshot) => snapshot !== undefined);
  }

  /** Breaks the hold that the page showed, and no other. */
  async breakHold({ key, token }: BreakRequest, by: string): Promise<LockBreakOutcome> {
    const { admin } = this;
    const own = this.snapshot();
    const [others, lock] = await Promise.all([this.others().catch(() => []), admin.inspect(key)]);
    if (lock === null) return 'free';
    const snapshots = [own, ...others.filter(({ client }) => client !== own.client)];
    const holder = holderWith(token, lock, snapshots);
    if (holder === undefined) return 'held-by-others';
    // The store compares the hold again, in the step that breaks it.
    return await admin.breakHold(key, holder, { by });
  }
}

/** Finds the holder by a token that the page showed. The token may be one that only the snapshot of the process has. */
function holderWith(
  token: number | null,
  lock: LockInfo,
  snapshots: readonly ProcessSnapshot[],
): LockHolder | undefined {
  return lock.holders.find((holder) => {
    if (token === null || holder.token === undefined) return token === null && holder.token === undefined;
    const tokens = [holder.token, ...laterTokens(holder.owner, holder.token, lock.key, snapshots)];
    // An exclusive lock has only its latest hold; a process may have several holds of a shared one.
    return lock.limit === 1 ? Math.max(...tokens) === token : tokens.includes(token);
  });
}

/** The last events of a module instance. Subscribes only while there are visitors, since events cost time. */
class RecentEvents {
  private events: ListedEvent[] = [];
  private subscription: Subscription | undefined;

  constructor(private readonly source: Observable<LockEvent>) {}

  start(): void {
    this.subscription ??= this.source.subscribe((event) => {
      if (isListed(event) && this.events.push(event) > MOST_EVENTS) this.events.shift();
    });
  }

  stop(): void {
    this.subscription?.unsubscribe();
    this.subscription = undefined;
    this.events = [];
  }

  /** Newest first. */
  list(): readonly ListedEvent[] {
    return [...this.events].reverse();
  }
}
