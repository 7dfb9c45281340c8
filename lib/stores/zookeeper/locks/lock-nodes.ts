import { later } from '../../../common/clock.js';
import type { TimerQueue } from '../../../common/timer-queue.js';
import { firstRoom } from '../../port/limits.js';
import {
  LockStoreError,
  type AcquireRequest,
  type LockStoreClient,
  type MonotonicMs,
} from '../../port/lock-store.js';
import { ObservedLeases } from '../../ordered/observed-leases.js';
import {
  check,
  create,
  exists,
  getChildren,
  getData,
  multi,
  NODE,
  remove,
  setData,
  sync,
  type Acl,
  type Created,
  type Stat,
} from '../connection/protocol.js';
import { CODE, hasCode, unless, ZooKeeperError } from '../connection/zookeeper-failure.js';
import type { Request } from '../connection/zookeeper-connection.js';
import type { ClientNodes } from './client-nodes.js';
import {
  decodeData,
  encodeData,
  grantIn,
  NodeQueue,
  nameFor,
  sequenceIn,
  type EntryData,
  type LockPaths,
} from './layout.js';

const NO_DATA = new Uint8Array();

/** How often entries are created again if other clients create or delete their containers meanwhile. */
const MOST_ATTEMPTS = 5;

/**
 * ZooKeeper counts the entries of a queue in 32 bits, and gives all entries after the last number the same one. From
 * this number on the queue accepts no entries, so that its container can be deleted when it is empty, and counting
 * starts again.
 */
const LAST_SEQUENCE = 2_000_000_000;

/** How many holders of a lock are read by waiters that need not read all of them. */
const MOST_LOOKED_AT = 32;

/** An entry that was created, and its queue right afterwards. */
export interface JoinedEntry extends Created {
  readonly queue: NodeQueue;
}

export interface ReadEntry {
  readonly data: EntryData;
  readonly stat: Stat;
}

/** Creates, reads, writes and deletes the nodes of locks. */
export class LockNodes {
  /** Paths to be deleted that may still exist. */
  private readonly unwanted = new Set<string>();
  private readonly containers: LockContainers;
  private readonly observed: ObservedLeases;

  constructor(
    readonly client: LockStoreClient,
    readonly request: Request,
    readonly paths: LockPaths,
    readonly clientNodes: ClientNodes,
    private readonly acl: Acl,
    timers: TimerQueue,
  ) {
    this.containers = new LockContainers(client, request, timers);
    this.observed = new ObservedLeases(client, timers, (path, version) => this.removeExpired(path, version));
  }

  /** Adds an entry to a queue, and reads the queue right afterwards. */
  async join(request: AcquireRequest, data: EntryData): Promise<JoinedEntry> {
    for (let attempt = 1; ; attempt++) {
      const joined = await this.joinOnce(request, data, attempt === MOST_ATTEMPTS);
      if (joined === undefined) continue;
      if (sequenceIn(joined.path) > LAST_SEQUENCE) await this.startCountingAgain(joined.path);
      return joined;
    }
  }

  /** @param isFresh whether to see everything that was committed before */
  async queue(key: string, { isFresh = false, watch = false } = {}): Promise<NodeQueue> {
    const path = this.paths.ofKey(key);
    if (isFresh) this.request(sync(path)).catch(() => undefined);
    try {
      const { names, stat } = await this.request(getChildren(path, watch));
      return new NodeQueue(path, names, stat.pzxid);
    } catch (error) {
      if (hasCode(error, CODE.noNode)) return new NodeQueue(path, [], 0);
      throw error;
    }
  }

  async namesOfLocks(): Promise<readonly string[]> {
    const { locks } = this.paths;
    this.request(sync(locks)).catch(() => undefined);
    return (await unless(CODE.noNode, this.request(getChildren(locks, false))))?.names ?? [];
  }

  /** Undefined if the entry is gone. */
  async read(path: string, watch = false): Promise<ReadEntry | undefined> {
    const read = await unless(CODE.noNode, this.request(getData(path, watch)));
    return read && { data: decodeData(read.data), stat: read.stat };
  }

  statOf(path: string): Promise<Stat | undefined> {
    return unless(CODE.noNode, this.request(exists(path)));
  }

  /** Watches for the deletion of an entry; false if it is gone. */
  async watchEnd(path: string): Promise<boolean> {
    // It has no children. A watch of its data would fire at each write.
    return (await unless(CODE.noNode, this.request(getChildren(path, true)))) !== undefined;
  }

  /**
   * Writes to all entries or none; undefined if one is gone. Without data, only checks that the entry exists.
   *
   * @returns the stat of the first entry, if it was written
   */
  async write(
    ...entries: readonly { path: string; data: EntryData | undefined }[]
  ): Promise<{ readonly stat: Stat | undefined } | undefined> {
    const parts = entries.map(({ path, data }) =>
      data === undefined ? check(path) : setData(path, encodeData(data)),
    );
    try {
      const [stat] = await this.clientNodes.fenced(this.request, ...parts);
      return { stat: stat as Stat | undefined };
    } catch (error) {
      if (hasCode(error, CODE.noNode)) return undefined;
      throw error;
    }
  }

  /** Deletes an entry of this client; returns whether it existed. If that fails, it is retried after a reconnect. */
  remove(path: string): Promise<boolean> {
    this.unwanted.add(path);
    return this.removeOfAny(path);
  }

  /** Deletes an entry of any client; returns whether it existed. */
  async removeOfAny(path: string): Promise<boolean> {
    let wasThere = true;
    try {
      await this.request(remove(path));
    } catch (error) {
      if (!hasCode(error, CODE.noNode)) throw error;
      wasThere = false;
    }
    this.unwanted.delete(path);
    this.containers.leave(containerOf(path));
    return wasThere;
  }

  /**
   * Observes holders, so that their leases end if they are not renewed. Callers that don't wait and some waiters observe
   * all of them, so that every lease that is measured by callers ends.
   *
   * @returns ms until there may be room
   */
  async leaseLeft(
    queue: NodeQueue,
    request: Pick<AcquireRequest, 'limit' | 'permits'>,
    readsAll = true,
  ): Promise<number | undefined> {
    const holders = readsAll ? queue.holders : queue.holders.slice(0, MOST_LOOKED_AT);
    const lefts = await Promise.all(
      holders.map(async ({ path, permits }) => {
        const read = await this.read(path);
        return read && { end: this.observe(path, read), permits };
      }),
    );
    return firstRoom(
      request,
      lefts.flatMap((left) => left ?? []),
    );
  }

  /** A holder was read; returns what is left of its lease at most, ms. */
  observe(path: string, { data, stat }: ReadEntry): number {
    // An entry that has not yet written that it holds the lock has only the short claim lease to do so.
    const isClaimed = grantIn(data, stat) !== undefined;
    if (isClaimed && data.isKept) return data.lease;
    return this.observed.see(containerOf(path), path, stat.version, isClaimed ? data.lease : data.claim);
  }

  reconnected(): void {
    for (const path of this.unwanted) this.remove(path).catch(() => undefined);
  }

  /** The session has ended, and all its nodes with it. */
  sessionEnded(): void {
    this.unwanted.clear();
    this.containers.leaveAll();
  }

  /** Deletes now what this client would delete later; never rejects. */
  close(): Promise<void> {
    return this.containers.clear();
  }

  private async removeExpired(path: string, version: number): Promise<void> {
    // Most are gone by now, and a delete that fails is a transaction, too.
    if ((await this.statOf(path))?.version !== version) return;
    await this.request(remove(path, version));
    this.containers.leave(containerOf(path));
  }

  /**
   * Undefined if it has to be tried again.
   *
   * @param isLast whether to throw instead
   */
  private async joinOnce(
    wanted: AcquireRequest,
    data: EntryData,
    isLast: boolean,
  ): Promise<JoinedEntry | undefined> {
    const { request, acl, containers, paths } = this;
    const path = paths.ofKey(wanted.key);
    // In the same transaction: servers never delete a container that had no child.
    const missing = containers.has(path) ? [] : [create(path, NO_DATA, acl, NODE.container)];
    const creating = this.clientNodes.fenced(
      request,
      ...missing,
      create(`${path}/${nameFor(wanted)}`, encodeData(data), acl, NODE.ephemeralSequential),
    );
    const [outcome, queue] = await Promise.allSettled([creating, this.queue(wanted.key)]);
    if (outcome.status === 'fulfilled') {
      containers.joined(path);
      if (queue.status === 'rejected') throw queue.reason;
      return { ...(outcome.value[missing.length] as Created), queue: queue.value };
    }
    const error: unknown = outcome.reason;
    if (!(error instanceof ZooKeeperError) || isLast) throw error;
    // Part 0 is the fence, the next ones create containers.
    const isOfContainer = error.part !== undefined && error.part <= missing.length;
    if (isOfContainer && error.code === CODE.noNode) throw this.clientNodes.gone(paths.locks);
    // Other clients have created or deleted the container.
    const isChanged = queue.status === 'fulfilled' && containers.found(path, queue.value.changedAt > 0);
    if (!isChanged && !hasCode(error, CODE.noNode, CODE.nodeExists)) throw error;
    return undefined;
  }

  private async startCountingAgain(path: string): Promise<never> {
    await this.remove(path);
    // Fails as long as the queue has other entries.
    await this.request(remove(containerOf(path))).catch(() => undefined);
    throw new LockStoreError(
      'the sequence numbers of a queue in ZooKeeper are exhausted; they start again when the queue is empty',
      { inDoubt: false, retryable: true },
    );
  }
}

function containerOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/** More containers than these are forgotten, and found again. */
const MOST_KNOWN = 10_000;

/** How long a container stays after its last use by this client, ms: a lock that is used again shortly needs no new one. */
const IDLE = 2_000;

/** The shortest time between two sweeps, ms, so that busy clients delete many containers in one transaction. */
const SWEEP_EVERY = 100;

/** Containers in one transaction. Each path may have 3 kB, and servers reject requests of more than a MiB. */
const MOST_AT_ONCE = 128;

/**
 * The containers of locks. Servers delete empty ones after a minute or two, but no more than 167 a second, which is too
 * slow for a fleet that uses new keys all the time. So clients delete the containers that they leave empty, many in one
 * transaction. The servers delete those of dead clients.
 */
class LockContainers {
  private readonly known = new Set<string>();
  /** Containers that this client has left, and when; the earliest first. */
  private readonly left = new Map<string, MonotonicMs>();
  private isSweeping = false;

  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly request: Request,
    private readonly timers: TimerQueue,
  ) {}

  /** Whether it exists as far as this client knows: other clients may have deleted it. */
  has(path: string): boolean {
    return this.known.has(path);
  }

  /** Returns whether that is new. */
  found(path: string, isThere: boolean): boolean {
    if (this.known.has(path) === isThere) return false;
    if (!isThere) return this.known.delete(path);
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.add(path);
    return true;
  }

  joined(path: string): void {
    this.left.delete(path);
    this.found(path, true);
  }

  /** An entry in it is gone, perhaps the last. */
  leave(path: string): void {
    this.left.delete(path);
    this.left.set(path, this.client.now());
    if (this.isSweeping) return;
    this.isSweeping = true;
    this.timers.after(IDLE, this.sweep);
  }

  leaveAll(): void {
    for (const path of this.known) this.leave(path);
  }

  /** Deletes now what would be deleted later; never rejects. */
  clear(): Promise<void> {
    return this.deleteLeft(Infinity);
  }

  private readonly sweep = (): void => {
    void this.deleteLeft(this.client.now() - IDLE).finally(() => {
      const [next] = this.left.values();
      this.isSweeping = next !== undefined;
      if (next === undefined) return;
      const wait = later(next, IDLE) - this.client.now();
      this.timers.after(Math.max(SWEEP_EVERY, wait), this.sweep);
    });
  };

  /** Deletes the containers that were left by this time, if they are empty. */
  private async deleteLeft(until: number): Promise<void> {
    for (;;) {
      const due: string[] = [];
      for (const [path, since] of this.left) {
        if (due.length === MOST_AT_ONCE || since > until) break;
        due.push(path);
      }
      if (due.length === 0 || !(await this.deleteEmpty(due))) return;
    }
  }

  /** Returns whether ZooKeeper was reachable; what could not be deleted is tried again. */
  private async deleteEmpty(paths: readonly string[]): Promise<boolean> {
    for (const path of paths) this.left.delete(path);
    try {
      // A transaction that fails is replicated like any other; a read is not.
      const stats = await Promise.all(paths.map((path) => unless(CODE.noNode, this.request(exists(path)))));
      const empty = paths.filter((_, index) => stats[index]?.children === 0);
      // Those that other clients have deleted: a transaction that relies on them would fail.
      for (const [index, path] of paths.entries()) if (stats[index] === undefined) this.known.delete(path);
      while (empty.length > 0) {
        // Before the request, so that entries created from now on create the container again.
        for (const path of empty) this.known.delete(path);
        try {
          await this.request(multi(empty.map((path) => remove(path))));
          break;
        } catch (error) {
          // All or none are deleted. One is in use again, or was deleted by another client.
          if (!(error instanceof ZooKeeperError) || error.part === undefined) throw error;
          empty.splice(error.part, 1);
        }
      }
      return true;
    } catch {
      for (const path of paths) this.leave(path);
      return false;
    }
  }
}
