import { MemoryLockStore } from '../../lib/index.js';
import { Glob } from '../../lib/common/glob.js';
import type { EntryData, ReadEntry } from '../../lib/stores/ordered/entry-data.js';
import { clientOf, LockQueue, type QueueEntry } from '../../lib/stores/ordered/lock-queue.js';
import {
  TOKENS_PER_REVISION,
  type DriverEvents,
  type EntryWrite,
  type JoinReply,
  type OrderedDriver,
  type WriteReply,
} from '../../lib/stores/ordered/ordered-driver.js';
import { openOrdered } from '../../lib/stores/ordered/ordered-session.js';
import {
  LockStoreError,
  type AcquireRequest,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type StoreConnection,
} from '../../lib/stores/port/lock-store.js';
import { checkCursor } from '../../lib/stores/port/store-failure.js';

interface MemoryEntry extends QueueEntry {
  stored: ReadEntry;
}

/** An ordered store in memory, for tests of everything above its driver. It can lose messages. */
export class OrderedMemory implements LockStore {
  readonly name = 'an ordered store in memory';
  readonly entries = new Map<string, MemoryEntry[]>();
  readonly boards = new MemoryLockStore();
  readonly drivers = new Set<MemoryDriver>();
  revision = 0;
  /** Whether a report of a change is lost. */
  loses: () => boolean = () => false;

  open(client: LockStoreClient): LockStoreSession {
    return openOrdered(client, (events) => new MemoryDriver(this, events));
  }

  /** Reports a change to the clients that watch the entry or its queue. */
  report(key: string, path: string, isGone: boolean): void {
    for (const { watched, events } of this.drivers) {
      const concerned = [path, ...(isGone ? [key] : [])].filter((name) => watched.delete(name));
      if (this.loses()) continue;
      for (const name of concerned) queueMicrotask(() => events.changed(name, isGone));
    }
  }
}

class MemoryDriver implements OrderedDriver {
  readonly description = undefined;
  readonly carriesOutWhatWasSent = true;
  readonly lastsUntil = Infinity as MonotonicMs;
  readonly watched = new Set<string>();
  readonly board: LockBoard;
  private isOpen = false;

  constructor(
    private readonly store: OrderedMemory,
    readonly events: DriverEvents,
  ) {
    const { board } = store.boards.open(events.client);
    if (board === undefined) throw new Error('the memory store has no board');
    this.board = board;
  }

  connections(): readonly StoreConnection[] {
    return [{ name: 'memory', isOpen: this.isOpen }];
  }

  async start(): Promise<void> {
    this.isOpen = true;
    this.store.drivers.add(this);
  }

  async verify(): Promise<void> {
    await this.answer();
  }

  async listKeys({ match, cursor, count }: ListKeysRequest): Promise<ListedKeys> {
    checkCursor(cursor === undefined || /^\d+$/.test(cursor));
    await this.answer();
    const all = [...this.store.entries.keys()];
    const first = Number(cursor ?? 0);
    const glob = new Glob(match);
    const keys = all.slice(first, first + count).filter((key) => glob.matches(key));
    return { keys, cursor: first + count < all.length ? String(first + count) : undefined };
  }

  async close(endsSession: boolean): Promise<void> {
    this.isOpen = false;
    this.store.drivers.delete(this);
    const all = [...this.store.entries.values()].flat();
    const own = all.filter(({ owner }) => clientOf(owner) === this.events.client.id);
    const end = (): void => {
      for (const { path } of own) this.delete(keyOf(path), path);
    };
    if (endsSession) end();
    else setTimeout(end, Math.max(0, ...own.map(({ stored }) => stored.data.lease))).unref();
  }

  isKept(): boolean {
    return false;
  }

  tokenOf(revision: number): number {
    return revision * TOKENS_PER_REVISION;
  }

  async raiseTokens(floor: number): Promise<void> {
    await this.answer();
    this.store.revision = Math.max(this.store.revision, Math.ceil(floor / TOKENS_PER_REVISION));
  }

  async join(request: AcquireRequest, dataFor: (state: 'free' | 'waits') => EntryData): Promise<JoinReply> {
    await this.answer();
    const { key, owner, limit, permits, wait } = request;
    const before = this.queueNow(key);
    const isHolder = before.conflictWith(limit) === undefined && before.hasRoom(request);
    if (!isHolder && !wait) {
      return { path: undefined, isHolder, created: 0, queue: before };
    }
    const created = (this.store.revision += 1);
    const path = `${key} ${created}`;
    const data = dataFor(isHolder ? 'free' : 'waits');
    const stored = { data, created, modified: created, writes: 0, isOfSession: true };
    this.store.entries.set(key, [...this.entriesOf(key), { path, owner, limit, permits, stored }]);
    return { path, isHolder, created, queue: this.queueNow(key) };
  }

  async queue(key: string, { watch = false } = {}): Promise<LockQueue> {
    await this.answer();
    if (watch) this.watched.add(key);
    return this.queueNow(key);
  }

  async read(key: string, path: string, watch = false): Promise<ReadEntry | undefined> {
    await this.answer();
    const entry = this.find(key, path);
    if (watch && entry !== undefined) this.watched.add(path);
    return entry?.stored;
  }

  async watchEnd({ path }: QueueEntry, { key }: LockQueue): Promise<boolean> {
    return (await this.read(key, path, true)) !== undefined;
  }

  async write(...writes: readonly EntryWrite[]): Promise<WriteReply | undefined> {
    await this.answer();
    const entries = writes.map(({ key, path }) => this.find(key, path));
    if (entries.includes(undefined)) return undefined;
    const revision = (this.store.revision += 1);
    writes.forEach(({ key, path, data }, index) => {
      const entry = entries[index];
      if (entry === undefined || data === undefined) return;
      entry.stored = { ...entry.stored, data, modified: revision, writes: entry.stored.writes + 1 };
      this.store.report(key, path, false);
    });
    return { revision };
  }

  async writeAndRead(write: EntryWrite): Promise<(WriteReply & { readonly queue: LockQueue }) | undefined> {
    const written = await this.write(write);
    return written && { ...written, queue: this.queueNow(write.key) };
  }

  async remove(key: string, path: string): Promise<boolean> {
    await this.answer();
    return this.delete(key, path);
  }

  async removeUnchanged(key: string, path: string, modified: number): Promise<void> {
    if (this.find(key, path)?.stored.modified === modified) await this.remove(key, path);
  }

  tellBroken(_key: string, owner: string): void {
    for (const { events } of this.store.drivers) {
      if (events.client.id === clientOf(owner)) events.broken(owner as OwnerId);
    }
  }

  private async answer(): Promise<void> {
    await Promise.resolve();
    if (this.isOpen) return;
    throw new LockStoreError('closed', { inDoubt: false, retryable: true, unreachable: true });
  }

  private delete(key: string, path: string): boolean {
    const before = this.entriesOf(key);
    const left = before.filter((entry) => entry.path !== path);
    if (left.length > 0) this.store.entries.set(key, left);
    else this.store.entries.delete(key);
    if (left.length === before.length) return false;
    this.store.revision += 1;
    this.store.report(key, path, true);
    return true;
  }

  private entriesOf(key: string): readonly MemoryEntry[] {
    return this.store.entries.get(key) ?? [];
  }

  private find(key: string, path: string): MemoryEntry | undefined {
    return this.entriesOf(key).find((entry) => entry.path === path);
  }

  /** A copy: entries change. */
  private queueNow(key: string): LockQueue {
    const entries = this.entriesOf(key).map((entry) => {
      const { stored } = entry;
      return { ...entry, content: () => stored };
    });
    return new LockQueue(key, entries, this.store.revision, this.events.client.now());
  }
}

function keyOf(path: string): string {
  return path.slice(0, path.lastIndexOf(' '));
}
