import type { Timer, TimerQueue } from '../../common/timer-queue.js';
import type { Endpoint } from './connection/endpoint.js';
import { isAboutToken } from './connection/etcd-failure.js';
import { methods, type KeyValue, type WatchCall, type WatchReply } from './connection/protocol.js';
import type { EntryNames, LockRange } from './entry-names.js';

/** How long a lock is watched after its last waiter has left, ms. */
const KEEP_WATCHING = 2_000;

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
  /** The latest revision whose changes were reported, or precede the watch. */
  private known = 0;
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

  /**
   * Reports the next change of an entry or, for the key of the lock, the next entry that leaves its queue.
   *
   * @param revision at which it was read
   */
  await(path: string, revision: number): void {
    this.awaited.set(path, revision);
    this.stay();
    // Its change may have been reported before, or not at all.
    if (revision < this.known) process.nextTick(() => this.fire(path, true));
  }

  onWatched(revision: number): void {
    this.known = Math.max(this.known, revision);
    for (const [path, readAt] of this.awaited) if (readAt < revision) this.fire(path, true);
  }

  onChanged(events: readonly KeyValue[]): void {
    for (const { key: path, created, modified } of events) {
      const isGone = created === 0;
      this.known = Math.max(this.known, modified);
      this.fire(path, isGone);
      if (isGone) this.fire(this.key, true);
    }
  }

  /** The connection was lost, and with it all watches. */
  reset(): void {
    this.awaited.clear();
    this.known = 0;
    this.rest();
  }

  close(): void {
    this.stay();
    this.unwatch();
    this.onIdle();
  }

  private fire(path: string, isGone: boolean): void {
    if (!this.awaited.delete(path)) return;
    if (this.awaited.size === 0) this.rest();
    this.report(path, isGone);
  }

  private rest(): void {
    this.stay();
    this.idle = this.timers.after(KEEP_WATCHING, () => this.close());
  }

  private stay(): void {
    if (this.idle !== undefined) this.timers.clear(this.idle);
    this.idle = undefined;
  }
}

/** The watches of locks with waiters of this client. */
export class LockWatches {
  private readonly byName = new Map<string, LockWatch>();

  constructor(
    private readonly names: EntryNames,
    private readonly watches: Watches,
    private readonly timers: TimerQueue,
    private readonly report: Report,
  ) {}

  /** Watches the lock from now on. */
  at(key: string, of: 'deletions' | 'changes'): LockWatch {
    const name = `${of} ${key}`;
    let watch = this.byName.get(name);
    if (watch === undefined) {
      const range = this.names.lock(key);
      watch = new LockWatch(key, range, of, this.watches, this.timers, this.report, () =>
        this.byName.delete(name),
      );
      this.byName.set(name, watch);
    }
    return watch;
  }

  reset(): void {
    for (const watch of this.byName.values()) watch.reset();
  }

  close(): void {
    for (const watch of [...this.byName.values()]) watch.close();
  }
}
