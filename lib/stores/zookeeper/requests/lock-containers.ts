import { later } from '../../../common/clock.js';
import type { TimerQueue } from '../../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from '../../port/lock-store.js';
import { exists, multi, remove } from '../connection/operations.js';
import type { Request } from '../connection/zookeeper-connection.js';
import { CODE, isAnswer, ZooKeeperError } from '../connection/zookeeper-error.js';

/** Containers that are known to be there; more of them are found out again. */
const MOST_KNOWN = 10_000;

/** How long a container stays after its last use by this client, ms: a lock that is used again soon needs no new one. */
const IDLE = 2_000;

/** The shortest time between two sweeps, ms, so that busy clients delete many containers in one transaction. */
const SWEEP_EVERY = 100;

/** Containers in one transaction. Each path may have 3 kB, and servers refuse requests of more than a MiB. */
const MOST_AT_ONCE = 128;

/**
 * The containers of locks. The servers delete an empty one after a minute or two, but not more than 167 a second, so that
 * they can't keep up with a fleet that uses new keys all the time. Therefore clients delete the containers that they leave
 * empty, many in one transaction. What dead clients leave is up to the servers.
 */
export class LockContainers {
  private readonly known = new Set<string>();
  /** Those that this client has left, and when; the earliest first. */
  private readonly left = new Map<string, MonotonicMs>();
  private isSweeping = false;

  constructor(
    private readonly client: Pick<LockStoreClient, 'now'>,
    private readonly request: Request,
    private readonly timers: TimerQueue,
  ) {}

  /** Whether it is there as far as is known: somebody else may have deleted it. */
  has(path: string): boolean {
    return this.known.has(path);
  }

  /** Answers whether that was not known. */
  found(path: string, isThere: boolean): boolean {
    if (this.known.has(path) === isThere) return false;
    if (!isThere) return this.known.delete(path);
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    this.known.add(path);
    return true;
  }

  /** This client has a new place in it. */
  joined(path: string): void {
    this.left.delete(path);
    this.found(path, true);
  }

  /** A place in it is gone, perhaps the last one. */
  leave(path: string): void {
    this.left.delete(path);
    this.left.set(path, this.client.now());
    if (this.isSweeping) return;
    this.isSweeping = true;
    this.timers.after(IDLE, this.sweep);
  }

  /** All places of this client are gone. */
  leaveAll(): void {
    for (const path of this.known) this.leave(path);
  }

  /** Deletes at once what would be deleted later; never rejects. */
  async clear(): Promise<void> {
    while (this.left.size > 0 && (await this.deleteEmpty([...this.left.keys()].slice(0, MOST_AT_ONCE))));
  }

  private readonly sweep = (): void => {
    void this.sweepDue().finally(() => {
      const [next] = this.left.values();
      this.isSweeping = next !== undefined;
      if (next === undefined) return;
      const wait = later(next, IDLE) - this.client.now();
      this.timers.after(Math.max(SWEEP_EVERY, wait), this.sweep);
    });
  };

  private async sweepDue(): Promise<void> {
    const now = this.client.now();
    for (;;) {
      const due: string[] = [];
      for (const [path, since] of this.left) {
        if (due.length === MOST_AT_ONCE || later(since, IDLE) > now) break;
        due.push(path);
      }
      if (due.length === 0 || !(await this.deleteEmpty(due))) return;
    }
  }

  /** Answers whether ZooKeeper could be asked; what could not be deleted is tried again. */
  private async deleteEmpty(paths: readonly string[]): Promise<boolean> {
    for (const path of paths) this.left.delete(path);
    try {
      // A refused transaction is replicated like any other; a read is not.
      const children = await Promise.all(paths.map((path) => this.countChildren(path)));
      let empty = paths.filter((_, index) => children[index] === 0);
      while (empty.length > 0) {
        // Before it is sent: what is asked for from now on comes behind it.
        for (const path of empty) this.known.delete(path);
        const refused = await this.deleteTogether(empty);
        empty = refused === undefined ? [] : empty.filter((_, index) => index !== refused);
      }
      return true;
    } catch {
      for (const path of paths) this.leave(path);
      return false;
    }
  }

  private async countChildren(path: string): Promise<number | undefined> {
    try {
      return (await this.request(exists(path))).children;
    } catch (error) {
      if (isAnswer(error, CODE.noNode)) return undefined;
      throw error;
    }
  }

  /** All of them or none; answers which of them can't be deleted, such as one that is in use again. */
  private async deleteTogether(paths: readonly string[]): Promise<number | undefined> {
    try {
      await this.request(multi(paths.map((path) => remove(path))));
      return undefined;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.part !== undefined) return error.part;
      throw error;
    }
  }
}
