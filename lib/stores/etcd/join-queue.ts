import type { EntryData } from '../ordered/entry-data.js';
import { UnwantedError, type JoinReply } from '../ordered/ordered-driver.js';
import type { AcquireRequest } from '../port/lock-store.js';

/** The most keys whose queues are joined at once. */
const MOST_KEYS = 512;
/** The most requests for one key that travel together: each needs an operation and tokens of its own. */
const MOST_TOGETHER = 32;

/** A request for a queue position. */
export interface Join {
  readonly request: AcquireRequest;
  readonly dataFor: (state: 'free' | 'waits') => EntryData;
  readonly resolve: (reply: JoinReply) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Requests for queue positions. Those of one key go in their order, although etcd carries out requests in any order: all
 * that arrive while one is pending travel together after it. Each key has its turn, and nothing is sent for callers that
 * have left before it.
 */
export class JoinQueue {
  /** Keys whose requests are pending, with the requests that arrived meanwhile. */
  private readonly active = new Map<string, Join[]>();
  /** Keys that wait for their turn. */
  private readonly waiting = new Map<string, Join[]>();

  /**
   * @param send settles requests, of the same key and in their order; returns those that it has not sent. Never rejects
   * @param isWanted whether a caller still needs the request
   */
  constructor(
    private readonly send: (joins: readonly Join[]) => Promise<readonly Join[]>,
    private readonly isWanted: (request: AcquireRequest) => boolean,
  ) {}

  join(request: AcquireRequest, dataFor: Join['dataFor']): Promise<JoinReply> {
    return new Promise((resolve, reject) => this.add(request.key, [{ request, dataFor, resolve, reject }]));
  }

  private add(key: string, joins: readonly Join[]): void {
    const known = this.active.get(key) ?? this.waiting.get(key);
    if (known !== undefined) known.push(...joins);
    else if (this.active.size < MOST_KEYS) void this.begin(key, joins);
    else this.waiting.set(key, [...joins]);
  }

  private async begin(key: string, joins: readonly Join[]): Promise<void> {
    const meanwhile: Join[] = [];
    this.active.set(key, meanwhile);
    const wanted = joins.filter(({ request, reject }) => {
      const isWanted = this.isWanted(request);
      if (!isWanted) reject(new UnwantedError());
      return isWanted;
    });
    const sent = wanted.slice(0, MOST_TOGETHER);
    let left: readonly Join[] = [];
    try {
      left = await (sent.length === 0 ? [] : this.send(sent));
    } catch (error) {
      for (const { reject } of sent) reject(error);
    }
    this.active.delete(key);
    const others = [...left, ...wanted.slice(MOST_TOGETHER), ...meanwhile];
    // Behind the other keys.
    if (others.length > 0) this.waiting.set(key, others);
    for (const [next, all] of this.waiting) {
      if (this.active.size >= MOST_KEYS) return;
      this.waiting.delete(next);
      void this.begin(next, all);
    }
  }
}
