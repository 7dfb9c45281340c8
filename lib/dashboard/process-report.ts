import { boardOf, type LockService } from '../api/lock.service.js';
import type { LockBoard } from '../stores/port/lock-store.js';
import { parseSnapshot, snapshotOf, textOf } from './process-snapshot.js';
import { RecentEvents } from './recent-events.js';
import type { ProcessSnapshot } from './wire.js';

/** How often a process looks whether anybody looks, and then tells how it is, ms. */
export const REPORT_INTERVAL = 5_000;
/** For how long what it has told stays, and for how long somebody who has looked counts as looking, ms. */
const TTL = 3 * REPORT_INTERVAL;

/** What one module instance of this process tells to those who look at the locks of all processes. */
export class ProcessReport {
  private readonly events: RecentEvents;
  private readonly board: LockBoard | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Until when somebody looks through this process, ms of the monotonic clock. */
  private viewedUntil = -Infinity;
  /** The snapshot that is being written, or was written last. */
  private published: Promise<void> | undefined;
  /** Until when that may be there, ms of the monotonic clock. */
  private publishedUntil = -Infinity;
  private hasStopped = false;

  constructor(readonly locks: LockService) {
    this.events = new RecentEvents(locks);
    this.board = boardOf(locks);
  }

  /** Whether processes can tell each other at all. */
  get isShared(): boolean {
    return this.board !== undefined;
  }

  start(): void {
    this.timer = setInterval(() => void this.report(), REPORT_INTERVAL);
    this.timer.unref();
    void this.report();
  }

  /** Takes its snapshot back: who has ended holds nothing. Never rejects. */
  async stop(): Promise<void> {
    this.hasStopped = true;
    clearInterval(this.timer);
    this.events.stop();
    if (performance.now() >= this.publishedUntil) return;
    await this.published?.catch(() => undefined);
    await this.board?.publish(this.locks.status().clientId, '', 1).catch(() => undefined);
  }

  /** Leaves a snapshot for other processes if anybody looks; writes nothing else. Never rejects. */
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
      // The store is away: those who look see that at the age of what was told, and in the log of the locks.
      if (performance.now() >= this.viewedUntil) events.stop();
    }
  }

  /** Somebody looks through this process. */
  async view(): Promise<void> {
    const now = performance.now();
    const isFirst = now >= this.viewedUntil;
    this.viewedUntil = now + TTL;
    this.events.start();
    await this.board?.watch(TTL);
    // Those who look through another process need not wait for the next time.
    if (isFirst) void this.report();
  }

  snapshot(): ProcessSnapshot {
    return snapshotOf(this.locks, this.events.list());
  }

  /** What all processes have told. */
  async others(): Promise<readonly ProcessSnapshot[]> {
    const texts = (await this.board?.read()) ?? [];
    return texts.map(parseSnapshot).filter((snapshot) => snapshot !== undefined);
  }
}
