import type { OwnerId } from '../../stores/port/lock-store.js';
import type { EngineContext } from '../context.js';
import type { LocalQueues } from '../queue/local-queues.js';
import type { Waiter } from '../queue/waiter.js';

/** A caller who tries again instead of standing in a queue. */
interface RetryingCaller {
  readonly caller: Waiter;
  /** Whether its first try has not brought the lock. */
  readonly isWaiting: boolean;
  /** The application shuts down. */
  close(): void;
}

/** What the store is asked for a caller that stands in no queue. */
export interface TriedLock {
  readonly caller: Waiter;
  readonly owner: OwnerId;
  /** Whether its grant was broken by force before the answer that tells of it. */
  wasBroken: boolean;
  /** Whether the store has told, before it answers, that others come first. */
  isHeldByOthers: boolean;
}

/** What acquisitions share: the queues, and what is known of the callers that stand in none. */
export class AcquireContext {
  /** Those that the store has not answered yet. */
  readonly unanswered = new Map<OwnerId, TriedLock>();
  readonly retrying = new Set<RetryingCaller>();
  /** How many callers wait for each key by trying again. Kept as numbers: a burst of callers asks once each. */
  private readonly waiting = new Map<string, number>();

  constructor(
    readonly engine: EngineContext,
    readonly queues: LocalQueues,
  ) {}

  /** How many callers of this process wait for a key: in line, or by trying again. */
  countWaiting(key: string): number {
    return this.queues.callersOf(key).length + (this.waiting.get(key) ?? 0);
  }

  /** Whether as many callers wait for the key already as this one accepts. */
  isFull(caller: Waiter): boolean {
    return this.countWaiting(caller.key) >= caller.maxWaiting;
  }

  /** What is granted to that owner is broken by force. */
  broken(owner: OwnerId): void {
    const lock = this.unanswered.get(owner);
    if (lock !== undefined) lock.wasBroken = true;
  }

  /** Others come before that owner. */
  heldByOthers(owner: OwnerId): void {
    const lock = this.unanswered.get(owner);
    if (lock !== undefined) lock.isHeldByOthers = true;
  }

  /** One caller more waits for the key by trying again, or one less. */
  changeWaiting(key: string, by: 1 | -1): void {
    const count = (this.waiting.get(key) ?? 0) + by;
    if (count > 0) this.waiting.set(key, count);
    else this.waiting.delete(key);
  }
}
