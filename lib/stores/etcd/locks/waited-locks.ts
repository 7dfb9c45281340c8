import type { Timer } from '../../../common/timer-queue.js';
import { LockQueue } from '../../ordered/lock-queue.js';
import type { MonotonicMs, WallClockMs } from '../../port/lock-store.js';
import type { Endpoint } from '../connection/endpoint.js';
import { isAboutToken } from '../connection/etcd-failure.js';
import { methods, type KeyValue, type WatchCall, type WatchReply } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import type { Entry, LockRange } from './entries.js';
import type { LockState } from './lock-reader.js';
import type { OwnEntry } from './own-entries.js';

/** How long a lock is watched after its last waiter has left, ms. */
const KEEP_WATCHING = 2_000;
/** How many deletions of a lock are remembered, for replies sent before them. */
const MOST_DELETIONS = 256;

interface WatchListener {
  readonly start: string;
  readonly end: string;
  readonly of: 'puts' | 'deletions';
  /** Every change after this revision will be reported. */
  watched(revision: number): void;
  /** @param events of one or several revisions, oldest first */
  changed(events: readonly KeyValue[]): void;
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
    const { start, end, of } = listener;
    this.stream.send({ do: 'watch', id, key: start, end, of });
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
    else if (created) listener.watched(revision);
    else if (events.length > 0) listener.changed(events);
  }
}

/** A lock with waiters of this session: watches for deleted entries and pushes grants. */
export class WaitedLock implements WatchListener {
  readonly of = 'deletions';
  readonly start: string;
  readonly end: string;

  private readonly waiters = new Set<OwnEntry>();
  /** The known entries; some behind the session's own may be missing. */
  private queue = new LockQueue<Entry>([]);
  private revision = 0;
  private deletedAt = 0;
  private readonly deleted = new Map<string, number>();
  private look: 'none' | 'pending' | 'again' = 'none';
  private readonly unwatch: () => void;
  private idle: Timer | undefined;

  constructor(
    private readonly lock: LockRange,
    private readonly context: LockContext,
    private readonly onIdle: () => void,
  ) {
    this.start = lock.start;
    this.end = lock.end;
    this.unwatch = context.watches.watch(this);
    this.closeWhenIdle();
  }

  /** @param state shows the waiter behind the holders */
  add(waiter: OwnEntry, state: LockState): void {
    this.waiters.add(waiter);
    this.stopIdle();
    this.found(state);
    // A deletion may have been reported before this reply arrived.
    if (this.holdsOne()) this.readSoon();
  }

  remove(waiter: OwnEntry): void {
    if (this.waiters.delete(waiter) && this.waiters.size === 0) this.closeWhenIdle();
  }

  /** Forgets everything known: etcd has lost data, and revisions repeat. */
  forget(): void {
    this.queue = new LockQueue<Entry>([]);
    this.revision = this.deletedAt = 0;
    this.deleted.clear();
  }

  close(): void {
    this.stopIdle();
    this.unwatch();
    this.onIdle();
  }

  watched(revision: number): void {
    // Changes up to this revision are not reported. A transaction can put an entry and delete the one before it, so an
    // equal revision needs a read, too.
    if (revision >= this.revision) this.readSoon();
  }

  changed(events: readonly KeyValue[]): void {
    for (const { key, modified } of events) {
      this.deleted.delete(key);
      this.deleted.set(key, modified);
      this.deletedAt = Math.max(this.deletedAt, modified);
    }
    for (const name of this.deleted.keys()) {
      if (this.deleted.size <= MOST_DELETIONS) break;
      this.deleted.delete(name);
    }
    this.queue = this.living(this.queue);
    if (this.holdsOne()) this.readSoon();
    // The new holder may have died: its lease counts from now on.
    this.context.reader.observe(this.queue.holders);
  }

  /** Records a read that was confirmed by a majority. */
  private found(state: LockState): void {
    // Such replies come in the order of their revisions; an older one does not show who holds the lock now.
    if (state.revision < this.revision) return;
    this.see(state);
    const holders = new Set(state.holders.map(({ name }) => name));
    for (const waiter of this.waiters) if (!holders.has(waiter.name)) waiter.waitedAt = state.sentAt;
  }

  private see(state: LockState): void {
    this.revision = state.revision;
    this.queue = this.living(state);
  }

  private living({ entries }: LockQueue<Entry>): LockQueue<Entry> {
    return new LockQueue(entries.filter((entry) => !this.isDeleted(entry)));
  }

  private isDeleted({ name, modified }: Entry): boolean {
    return (this.deleted.get(name) ?? 0) > modified;
  }

  /** Whether a waiter of this session seems to hold the lock by now. */
  private holdsOne(): boolean {
    const names = new Set(this.queue.holders.map(({ name }) => name));
    for (const { name } of this.waiters) if (names.has(name)) return true;
    return false;
  }

  private get known(): number {
    return Math.max(this.deletedAt, this.revision);
  }

  /** Reads the lock and grants it to waiters that hold it. If the read fails, the next poll finds them. */
  private readSoon(): void {
    if (this.look !== 'none') {
      this.look = 'again';
      return;
    }
    const work = async (): Promise<void> => {
      this.look = 'pending';
      if (this.waiters.size === 0) return;
      const { known } = this;
      const state = await this.context.reader.read(this.lock, true);
      // The member's own state may lag behind the change that it has reported.
      await this.pushGrants(
        state.revision < known ? await this.context.reader.read(this.lock) : state,
        known,
      );
    };
    const done = (): void => {
      const again = this.look === 'again';
      this.look = 'none';
      if (again) this.readSoon();
    };
    this.look = 'pending';
    this.context.turns.run(this.lock.key, work).then(done, done);
  }

  /** @param known the last revision known before the read */
  private async pushGrants(state: LockState, known: number): Promise<void> {
    // An older read, for example through a proxy, may show a holder that has lost its position since.
    if (state.revision < known) return;
    this.see(state);
    if (state.isWithoutBase) {
      await this.context.base.create();
      this.readSoon();
      return;
    }
    const byName = new Map([...this.waiters].map((waiter) => [waiter.name, waiter]));
    const othersWait = state.othersWait(this.context.client.id);
    for (const entry of state.holders) {
      const waiter = byName.get(entry.name);
      // The owner may have had another position before, or have lost this one since.
      if (waiter?.created !== entry.created || this.isDeleted(entry)) continue;
      try {
        const startedAt = await this.grant(waiter, state);
        this.remove(waiter);
        if (startedAt === undefined) continue;
        const { owner, claimLease: lease, tokens } = waiter;
        const grant = this.context.own.grantOf(waiter, tokens, othersWait);
        this.context.client.granted(owner, { ...grant, startedAt, lease, turnFrom: state.sentAt });
      } catch {
        // The waiter polls.
      }
    }
  }

  /** Returns the earliest time at which its lease began; undefined if its entry is gone. */
  private async grant(waiter: OwnEntry, { revision }: LockState): Promise<MonotonicMs | undefined> {
    const { own: ownEntries } = this.context;
    const { waitedAt, claimLease, limit } = waiter;
    // Only an exclusive lock has one holder at a time, so that the read's revision can be its token.
    if (limit === 1 && waitedAt !== undefined && this.context.client.now() - waitedAt < claimLease / 2) {
      ownEntries.holdUnwritten(waiter, revision);
      return waitedAt;
    }
    waiter.since = Date.now() as WallClockMs;
    waiter.isUnclaimed = true;
    const written = await ownEntries.write(waiter, { lease: claimLease, exactly: true });
    if (written.isGone) return undefined;
    waiter.isUnclaimed = true;
    ownEntries.granted(waiter, written.state.revision, claimLease);
    return written.state.sentAt;
  }

  private closeWhenIdle(): void {
    this.stopIdle();
    this.idle = this.context.timers.after(KEEP_WATCHING, () => {
      this.close();
    });
  }

  private stopIdle(): void {
    if (this.idle !== undefined) this.context.timers.clear(this.idle);
    this.idle = undefined;
  }
}

export class WaitedLocks {
  private readonly byKey = new Map<string, WaitedLock>();

  constructor(private readonly context: LockContext) {}

  /** Watches the lock from now on. */
  at(lock: LockRange): WaitedLock {
    const { key } = lock;
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const waited = new WaitedLock(lock, this.context, () => {
      if (this.byKey.get(key) === waited) this.byKey.delete(key);
    });
    this.byKey.set(key, waited);
    return waited;
  }

  remove(entry: OwnEntry): void {
    this.byKey.get(entry.key)?.remove(entry);
  }

  forget(): void {
    for (const waited of this.byKey.values()) waited.forget();
  }

  close(): void {
    for (const waited of [...this.byKey.values()]) waited.close();
  }
}
