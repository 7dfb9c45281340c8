import type { EngineContext } from '../context.js';
import type { LocalQueues } from '../queue/local-queues.js';
import type { Waiter } from '../queue/waiter.js';
import { UnansweredTries } from './unanswered-tries.js';
import { WaitingTries } from './waiting-tries.js';

/** A caller who tries again instead of standing in a queue. */
interface RetryingCaller {
  readonly caller: Waiter;
  /** The application shuts down. */
  close(): void;
}

/** What acquisitions share: the queues, and what is known of the callers that stand in none. */
export class AcquireContext {
  readonly tries = new UnansweredTries();
  readonly retrying = new Set<RetryingCaller>();
  readonly waitingTries = new WaitingTries();

  constructor(
    readonly engine: EngineContext,
    readonly queues: LocalQueues,
  ) {}

  /** How many callers of this process wait for a key: in line, or by trying again. */
  countWaiting(key: string): number {
    return this.queues.callersOf(key).length + this.waitingTries.of(key);
  }

  /** Whether as many callers wait for the key already as this one accepts. */
  isFull(caller: Waiter): boolean {
    return this.countWaiting(caller.key) >= caller.maxWaiting;
  }
}
