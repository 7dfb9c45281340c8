import { PendingReply } from '../../../common/pending-reply.js';
import type { LockStoreError } from '../../port/lock-store.js';
import { pendingCall, type CallBatch, type PendingCall, type Pipeline } from './pipeline.js';
import type { ScriptCall } from '../scripts/script.js';

/** Locks in one call: enough to spread the cost of a call, and few enough for the server to begin while we go on. */
const LARGEST_CALL = 16;

const SOON = Promise.resolve();

/** A request, and the answer that its sender waits for. */
class Item<Request, Result> extends PendingReply<Result> {
  constructor(readonly request: Request) {
    super();
  }
}

/** Gathers the requests of one kind within a tick, and sends them as calls for many locks. */
export class ScriptBatch<Request extends { readonly key: string }, Reply, Result> implements CallBatch {
  private items: Item<Request, Result>[] = [];

  /**
   * @param slotOf of a key; those of one slot may share a call. Left out, all may
   * @param callFor the call for some requests
   * @param resultOf what one reply means for its request; throws the error if it is one
   */
  constructor(
    private readonly pipeline: Pipeline,
    private readonly slotOf: ((key: string) => number) | undefined,
    private readonly callFor: (requests: readonly Request[]) => ScriptCall<Reply[]>,
    private readonly resultOf: (request: Request, reply: Reply) => Result | Promise<Result>,
    readonly goesFirst = false,
  ) {}

  add(request: Request): PendingReply<Result> {
    const item = new Item<Request, Result>(request);
    const count = this.items.push(item);
    if (count === 1 && this.pipeline.isQuietFor(this)) this.pipeline.write(this.drain());
    else if (count === 1) this.pipeline.enqueueBatch(this);
    // The server may begin while the rest of the tick goes on here.
    else if (count === LARGEST_CALL) this.pipeline.flushUpTo(this);
    return item;
  }

  /**
   * For an answer that is needed while this tick still goes on: what is asked for in the same turn of the microtask queue
   * is sent together, and the end of the tick is not waited for.
   */
  addSoon(request: Request): PendingReply<Result> {
    const item = new Item<Request, Result>(request);
    const count = this.items.push(item);
    if (count === 1) void SOON.then(this.sendNow);
    else if (count === LARGEST_CALL) this.sendNow();
    return item;
  }

  private readonly sendNow = (): void => {
    this.pipeline.write(this.drain());
  };

  drain(): readonly PendingCall[] {
    const { items } = this;
    if (items.length === 0) return [];
    this.items = [];
    if (this.slotOf === undefined || items.length === 1) return [this.callOf(items)];
    return this.bySlot(items, this.slotOf).map((some) => this.callOf(some));
  }

  private bySlot(
    items: readonly Item<Request, Result>[],
    slotOf: (key: string) => number,
  ): Item<Request, Result>[][] {
    const slots = new Map<number, Item<Request, Result>[]>();
    for (const item of items) {
      const slot = slotOf(item.request.key);
      const others = slots.get(slot);
      if (others === undefined) slots.set(slot, [item]);
      else others.push(item);
    }
    return [...slots.values()];
  }

  private callOf(items: readonly Item<Request, Result>[]): PendingCall {
    return pendingCall(
      this.callFor(items.map(({ request }) => request)),
      (replies) => {
        items.forEach((item, index) => {
          // A script answers for each lock.
          this.answered(item, replies[index] as Reply);
        });
      },
      (error) => {
        this.failed(items, error);
      },
      this.goesFirst && items.length === 1,
    );
  }

  private answered(item: Item<Request, Result>, reply: Reply): void {
    let result: Result | Promise<Result>;
    try {
      result = this.resultOf(item.request, reply);
    } catch (error) {
      item.reject(error);
      return;
    }
    if (!(result instanceof Promise)) item.resolve(result);
    else {
      result.then(
        (value) => {
          item.resolve(value);
        },
        (error: unknown) => {
          item.reject(error);
        },
      );
    }
  }

  private failed(items: readonly Item<Request, Result>[], error: LockStoreError): void {
    // One lock's trouble, such as something else at its name, must not become that of the others.
    if (items.length > 1 && !error.retryable) {
      for (const item of items) this.pipeline.enqueue(this.callOf([item]));
    } else for (const item of items) item.reject(error);
  }
}
