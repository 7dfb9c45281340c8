import { later } from '../../common/clock.js';
import type { TimerQueue } from '../../common/timer-queue.js';
import type { LockStoreClient, MonotonicMs } from '../port/lock-store.js';
import { exists, multi, remove } from './connection/protocol.js';
import type { Request } from './connection/zookeeper-connection.js';
import { CODE, unless, ZooKeeperError } from './connection/zookeeper-failure.js';

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
export class LockContainers {
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
