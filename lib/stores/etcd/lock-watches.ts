import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import type { Endpoint } from './connection/endpoint.js';
import { isAboutToken } from './connection/etcd-failure.js';
import { methods, type KeyValue, type WatchCall, type WatchReply } from './connection/protocol.js';
import type { LockRange } from './entry-names.js';

/** How long a lock is watched after its last waiter has left, ms. */
const KEEP_WATCHING = 2_000;
/** How many changes of a lock are remembered, for replies sent before them. */
const MOST_CHANGES = 256;

interface WatchListener {
  readonly range: LockRange;
  readonly of: 'puts' | 'deletions' | 'changes';
  /** Every change after this revision will be reported. */
  onWatched(revision: number): void;
  /** @param events of one or several revisions, oldest first */
  onChanged(events: readonly KeyValue[]): void;
}

/**
 * The stream on which etcd reports changes. It is opened with the first watch and kept. Watches start with the
 * next change, since etcd serves those that start in the past only ten times a second; so listeners have to read once
 * they are watching.
 */
export class Watches {
  /** All listeners, each with the id of its watch on the current stream. Without a stream, the id means nothing. */
  private readonly listeners = new Map<WatchListener, number>();
  /** The listeners on the current stream. */
  private readonly byId = new Map<number, WatchListener>();
  private endpoint: Endpoint | undefined;
  private stream: { send(call: WatchCall): void } | undefined;
  private nextId = 0;

  watch(listener: WatchListener): () => void {
    this.open(listener);
    return () => {
      const id = this.listeners.get(listener);
      if (id === undefined) return;
      this.listeners.delete(listener);
      if (this.byId.delete(id)) this.stream?.send({ do: 'unwatch', id });
    };
  }

  connected(endpoint: Endpoint): void {
    this.disconnected();
    this.endpoint = endpoint;
    for (const listener of [...this.listeners.keys()]) this.open(listener);
  }

  disconnected(): void {
    this.endpoint = this.stream = undefined;
    this.byId.clear();
    this.nextId = 0;
  }

  private open(listener: WatchListener): void {
    // etcd would choose the same ids. Its gRPC proxy does so even if a request names another one.
    const id = this.nextId++;
    this.listeners.set(listener, id);
    const { endpoint } = this;
    if (endpoint === undefined) return;
    this.byId.set(id, listener);
    this.stream ??= endpoint.stream(methods.watch, (reply) => {
      if (this.endpoint === endpoint) this.receive(endpoint, reply);
    });
    const { range, of } = listener;
    this.stream.send({ do: 'watch', id, ...range, of });
  }

  private receive(endpoint: Endpoint, { id, revision, created, canceled, reason, events }: WatchReply): void {
    if (created && canceled) {
      // etcd has refused the watch; the id is then not that of the request. A stream keeps the token that it was opened with,
      // so only a new connection helps. If a right is missing, requests fail, too, and report it.
      if (isAboutToken(reason)) endpoint.cut(new Error(`etcd has refused a watch (${reason})`));
      return;
    }
    const listener = this.byId.get(id);
    if (listener === undefined) return;
    // etcd cancels slow watchers, and those whose token has expired. A new connection starts all watches again.
    if (canceled) endpoint.cut(new Error(`etcd has ended a watch (${reason})`));
    else if (created) listener.onWatched(revision);
    else if (events.length > 0) listener.onChanged(events);
  }
}

/** Reports a change, once: see `DriverEvents.changed`. */
type Report = (path: string, isGone: boolean) => void;

/** One watch of the range of a lock, which serves all watches of its entries. */
class LockWatch implements WatchListener {
  /** The latest revision at which this client has seen the lock. */
  seen = 0;
  /** Changes after this revision are reported; undefined until etcd has started the watch. */
  private watchedFrom: number | undefined;
  /** The last changes, by entry. */
  private readonly changes = new Map<string, KeyValue>();
  private deletedAt = 0;
  /** What is to be reported, by entry or key, with the revision at which it was read. */
  private readonly awaited = new Map<string, number>();
  private readonly unwatch: () => void;
  private idle: Timer | undefined;

  constructor(
    private readonly key: string,
    readonly range: LockRange,
    readonly of: 'deletions' | 'changes',
    watches: Watches,
    private readonly timers: TimerQueue,
    private readonly report: Report,
    private readonly onIdle: () => void,
  ) {
    this.unwatch = watches.watch(this);
    this.rest();
  }

  /** Reports the next change of an entry that was read at this revision. False if it is gone. */
  onEntry(path: string, revision: number): boolean {
    const change = this.changes.get(path);
    if (change?.created === 0) return false;
    this.await(path, revision, change !== undefined && change.modified > revision);
    return true;
  }

  /** Reports the next entry that leaves the queue, which was read at this revision. */
  onQueue(revision: number): void {
    this.await(this.key, revision, this.deletedAt > revision);
  }

  onWatched(revision: number): void {
    this.watchedFrom = revision;
    this.seen = Math.max(this.seen, revision);
    // Changes up to this revision are not reported. A transaction can read a queue and then delete an entry, so an equal
    // revision needs a read, too.
    for (const [path, readAt] of this.awaited) if (readAt <= revision) this.fire(path, true);
  }

  onChanged(events: readonly KeyValue[]): void {
    for (const event of events) {
      const { key: path, created, modified } = event;
      const isGone = created === 0;
      this.changes.delete(path);
      this.changes.set(path, event);
      this.seen = Math.max(this.seen, modified);
      if (isGone) this.deletedAt = modified;
    }
    for (const path of this.changes.keys()) {
      if (this.changes.size <= MOST_CHANGES) break;
      this.changes.delete(path);
    }
    for (const { key: path, created } of events) {
      const isGone = created === 0;
      if (this.awaited.has(path)) this.fire(path, isGone);
      if (isGone && this.awaited.has(this.key)) this.fire(this.key, true);
    }
  }

  /** The connection was lost, and with it all watches. */
  reset(): void {
    this.awaited.clear();
    this.watchedFrom = undefined;
    this.seen = this.deletedAt = 0;
    this.changes.clear();
    this.rest();
  }

  close(): void {
    if (this.idle !== undefined) this.timers.clear(this.idle);
    this.unwatch();
    this.onIdle();
  }

  private await(path: string, revision: number, isMissed: boolean): void {
    this.awaited.set(path, revision);
    this.seen = Math.max(this.seen, revision);
    if (this.idle !== undefined) this.timers.clear(this.idle);
    this.idle = undefined;
    // Its change was reported before, or not at all.
    const isLate = isMissed || (this.watchedFrom !== undefined && revision <= this.watchedFrom);
    if (isLate) process.nextTick(() => this.fire(path, true));
  }

  private fire(path: string, isGone: boolean): void {
    if (!this.awaited.delete(path)) return;
    if (this.awaited.size === 0) this.rest();
    this.report(path, isGone);
  }

  private rest(): void {
    if (this.idle !== undefined) this.timers.clear(this.idle);
    this.idle = this.timers.after(KEEP_WATCHING, () => this.close());
  }
}

/** The watches of locks with waiters of this client. */
export class LockWatches {
  private readonly byKey = new Map<string, LockWatch>();

  constructor(
    private readonly watches: Watches,
    private readonly timers: TimerQueue,
    private readonly report: Report,
  ) {}

  /** Watches the lock from now on. */
  at(key: string, range: LockRange, of: 'deletions' | 'changes'): LockWatch {
    const name = `${of} ${key}`;
    let watch = this.byKey.get(name);
    if (watch === undefined) {
      watch = new LockWatch(key, range, of, this.watches, this.timers, this.report, () =>
        this.byKey.delete(name),
      );
      this.byKey.set(name, watch);
    }
    return watch;
  }

  /** The latest revision at which this client has seen the lock; 0 if it does not watch it. */
  seen(key: string): number {
    return Math.max(
      ...(['deletions', 'changes'] as const).map((of) => this.byKey.get(`${of} ${key}`)?.seen ?? 0),
    );
  }

  reset(): void {
    for (const watch of this.byKey.values()) watch.reset();
  }

  close(): void {
    for (const watch of [...this.byKey.values()]) watch.close();
  }
}
