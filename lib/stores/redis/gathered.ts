import type { LockStoreError } from '../lock-store.js';
import { letter, type Gathering, type Letter, type Outbox } from './outbox.js';
import type { ScriptCall } from './scripts/script.js';

/** Locks in one call; keeps the time for which a script blocks the server well under a millisecond. */
const LARGEST_CALL = 64;

interface Item<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/** Gathers the requests of one kind within a tick, and sends them as calls for many locks. */
export class Gathered<Request, Reply, Result> implements Gathering {
  private items: Item<Request, Result>[] = [];

  /**
   * @param callFor the call for some requests
   * @param resultOf what one reply means for its request
   */
  constructor(
    private readonly outbox: Outbox,
    private readonly callFor: (requests: readonly Request[]) => ScriptCall<Reply[]>,
    private readonly resultOf: (request: Request, reply: Reply) => Result | Promise<Result>,
  ) {}

  add(request: Request): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.items.push({ request, resolve, reject }) === 1) this.outbox.include(this);
    });
  }

  letters(): readonly Letter[] {
    const items = this.items;
    this.items = [];
    if (items.length <= LARGEST_CALL) return [this.letterFor(items)];
    const letters: Letter[] = [];
    for (let start = 0; start < items.length; start += LARGEST_CALL) {
      letters.push(this.letterFor(items.slice(start, start + LARGEST_CALL)));
    }
    return letters;
  }

  private letterFor(items: readonly Item<Request, Result>[]): Letter {
    return letter(
      this.callFor(items.map(({ request }) => request)),
      (replies) => {
        items.forEach(({ request, resolve }, index) => {
          // A script answers for each lock.
          resolve(this.resultOf(request, replies[index] as Reply));
        });
      },
      (error) => {
        this.failed(items, error);
      },
    );
  }

  private failed(items: readonly Item<Request, Result>[], error: LockStoreError): void {
    // One lock's trouble, such as something else at its name, must not become that of the others.
    if (items.length > 1 && !error.retryable) {
      for (const item of items) this.outbox.send(this.letterFor([item]));
    } else for (const { reject } of items) reject(error);
  }
}
