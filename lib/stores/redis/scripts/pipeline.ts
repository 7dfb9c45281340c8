import { plainCommand } from '../connection/ioredis.js';
import type { ChainableCommander } from 'ioredis';
import { Deferred } from '../../../common/deferred.js';
import { groupedBy } from '../../../common/grouped-by.js';
import type { LockStoreError } from '../../port/lock-store.js';
import type { ServerConnection } from '../connection/server-connection.js';
import { sendCall, type CallListener } from './encoded-call.js';
import type { ScriptCall } from './scripts.js';

/** Locks in one call: enough to spread its cost, few enough that the server starts while this process continues. */
const LARGEST_CALL = 16;

/** Not `queueMicrotask`, which fake timers of a test replace. */
const SOON = Promise.resolve();

/** A call, and what happens with its reply. */
class PendingCall implements CallListener {
  /** Whether it is sent again, since the server had lost the script. */
  isRepeated = false;
  /** Whether it was sent alone and has its outcome: a wrapper of `sendCommand` may throw after it has sent the call. */
  private isEnded = false;

  /**
   * @param deliver takes the raw reply; throws if it is malformed
   * @param isLoneRelease whether it releases a single lock: callers rarely wait for that reply
   */
  constructor(
    private readonly pipeline: Pipeline,
    readonly call: ScriptCall<unknown>,
    readonly deliver: (reply: unknown) => void,
    readonly reject: (error: LockStoreError) => void,
    readonly isLoneRelease = false,
  ) {}

  /** To be sent with the text of its script. */
  again(): PendingCall {
    const again = new PendingCall(this.pipeline, this.call, this.deliver, this.reject, this.isLoneRelease);
    again.isRepeated = true;
    return again;
  }

  /** The reply, if the call was sent alone. */
  replied(reply: unknown): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.pipeline.ended(this);
    this.pipeline.deliver(this, reply);
  }

  failed(error: unknown): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.pipeline.ended(this);
    this.pipeline.failed(this, error);
  }
}

/** Calls that are drained at the end of the tick. */
interface CallSource {
  /** Whether its calls precede all others: a release may free locks that other calls request, even if those came earlier. */
  readonly goesFirst: boolean;
  drain(): readonly PendingCall[];
}

/** Sends all requests of one tick together: requests of one kind as one script, several scripts as one pipeline. */
export class Pipeline {
  private calls: PendingCall[] = [];
  private sources: CallSource[] = [];
  private scheduled = false;
  /** Used by callers that wait until all pending calls have been sent. */
  private sent: Deferred<void> | undefined;
  /** Whether this turn of the event loop has sent anything: later requests of the turn are sent together at its end. */
  private sentInTurn = false;
  /** Calls without a reply yet. */
  private underWay = 0;
  /** How many of them release a single lock. */
  private loneReleases = 0;
  /** How many of them are sent again, and so run after calls that were sent behind them. */
  private repeated = 0;
  /** Digests of the scripts that the server has, or has once it comes to the calls that follow. */
  private readonly loaded = new Set<string>();

  /** @param slotOf the slot of a key in a cluster: only requests of one slot can be in one call */
  constructor(
    private readonly connection: ServerConnection,
    readonly slotOf: ((key: string) => number) | undefined,
  ) {}

  /** The next connection may lead to a server without the scripts. */
  disconnected(): void {
    this.loaded.clear();
  }

  /** Whether a first request need not wait for others: nothing is pending or scheduled, except one earlier release. */
  isQuietFor(source: CallSource): boolean {
    if (this.scheduled) return false;
    return this.underWay === 0 || (this.underWay === 1 && this.loneReleases === 1 && !source.goesFirst);
  }

  /** Whether an earlier call, such as a release, may run after one whose reply has just arrived. */
  async isOutOfOrder(): Promise<boolean> {
    if (this.repeated > 0) return true;
    // An earlier failure is reported a moment after the reply, that of several calls a few moments.
    for (let turns = 0; turns < 8; turns++) await SOON;
    return this.repeated > 0;
  }

  /** Resolves when all calls so far have been sent; undefined if they have been. */
  whenSent(): Promise<void> | undefined {
    if (!this.scheduled) return undefined;
    this.sent ??= new Deferred<void>();
    return this.sent.promise;
  }

  /** Sends a call at the end of this tick, after those of the batches. */
  send<T>(call: ScriptCall<T>): Promise<T> {
    return this.outcome(call, (pending) => this.enqueue(pending));
  }

  /** Sends a call before those that wait for the end of this tick. */
  sendNow<T>(call: ScriptCall<T>): Promise<T> {
    return this.outcome(call, (pending) => this.write([pending]));
  }

  private outcome<T>(call: ScriptCall<T>, send: (pending: PendingCall) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const deliver = (reply: unknown): void => resolve(call.decode(reply));
      send(new PendingCall(this, call, deliver, reject));
    });
  }

  /** Sends a call to a server that is still receiving the slot. */
  sendAsking<T>({ text, keyCount, args, decode }: ScriptCall<T>): Promise<T> {
    return this.connection.do(async (redis) => {
      const [, reply] = await Promise.all([
        redis.asking(),
        plainCommand(redis, 'EVAL', text.source, keyCount, ...args),
      ]);
      return decode(reply);
    });
  }

  enqueue(pending: PendingCall): void {
    this.calls.push(pending);
    this.schedule();
  }

  /** Drains a source at the end of this tick: those that go first, then in the order of their first requests. */
  enqueueSource(source: CallSource): void {
    if (source.goesFirst) {
      this.sources.unshift(source);
      // An earlier request for a queue position must arrive before the release: strict order depends on it.
      const { calls } = this;
      if (calls.length > 0) this.sources.unshift({ goesFirst: true, drain: () => calls.splice(0) });
      this.calls = [];
    } else this.sources.push(source);
    this.schedule();
  }

  /** Sends the calls of a source, and of those before it, without waiting for the end of the tick. */
  flushUpTo(last: CallSource): void {
    for (const source of this.sources) {
      this.write(source.drain());
      if (source === last) return;
    }
  }

  /** Sends calls without waiting for the end of the tick. */
  write(calls: readonly PendingCall[]): void {
    try {
      this.connection.check();
    } catch (error) {
      this.rejectAll(calls, error);
      return;
    }
    const [first] = calls;
    if (first === undefined) return;
    if (calls.length > 1) this.writeAll(calls);
    else this.writeOne(first);
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    if (this.sentInTurn) setImmediate(this.flush);
    else {
      this.sentInTurn = true;
      process.nextTick(this.flush);
      setImmediate(this.turnEnds);
    }
  }

  private readonly turnEnds = (): void => {
    this.sentInTurn = false;
  };

  private readonly flush = (): void => {
    this.scheduled = false;
    const calls = this.sources.flatMap((source) => source.drain()).concat(this.calls);
    this.calls = [];
    this.sources = [];
    this.write(calls);
    this.sent?.resolve();
    this.sent = undefined;
  };

  /**
   * The first call of a script on a connection includes its text. A call that had to be sent again would run after those
   * behind it, for example a release after the next request for the same lock. Only the first: a process that exits leaves
   * unsent what the socket does not hold.
   */
  private writeOne(pending: PendingCall): void {
    const { call, isLoneRelease } = pending;
    this.underWay += 1;
    if (isLoneRelease) this.loneReleases += 1;
    this.connection.watch.sent();
    try {
      sendCall(this.connection.redis, call, pending, this.loaded.has(call.text.sha));
      this.loaded.add(call.text.sha);
    } catch (error) {
      // From a tracing agent that wraps `sendCommand`.
      pending.failed(error);
    }
  }

  /** A call that was sent alone has its outcome, which is handled next. */
  ended({ isLoneRelease, isRepeated }: PendingCall): void {
    this.connection.watch.ended();
    this.underWay -= 1;
    if (isLoneRelease) this.loneReleases -= 1;
    if (isRepeated) this.repeatEnded();
  }

  /** At the end of the turn: replies that arrived together are handled before. */
  private repeatEnded(): void {
    setImmediate(() => (this.repeated -= 1));
  }

  private writeAll(calls: readonly PendingCall[]): void {
    // In upper case: see `plainCommand`.
    const exec = async (): Promise<[Error | null, unknown][] | null> => {
      let pipeline: ChainableCommander = this.connection.redis.pipeline();
      for (const { call } of calls) {
        const { text, keyCount, args } = call;
        pipeline = this.loaded.has(text.sha)
          ? pipeline.call('EVALSHA', text.sha, keyCount, ...args)
          : pipeline.call('EVAL', text.source, keyCount, ...args);
        this.loaded.add(text.sha);
      }
      return await pipeline.exec();
    };
    this.underWay += 1;
    this.connection.watch.request(exec()).then(
      (replies) => {
        this.underWay -= 1;
        calls.forEach((pending, index) => {
          const [error, reply] = replies?.[index] ?? [new Error('Connection is closed.')];
          if (error) this.failed(pending, error);
          else this.deliver(pending, reply);
        });
      },
      (error: unknown) => {
        this.underWay -= 1;
        this.rejectAll(calls, error);
      },
    );
  }

  private rejectAll(calls: readonly PendingCall[], error: unknown): void {
    for (const pending of calls) {
      if (pending.isRepeated) this.repeatEnded();
      pending.reject(this.connection.failureOf(error));
    }
  }

  deliver(pending: PendingCall, reply: unknown): void {
    try {
      pending.deliver(reply);
    } catch (error) {
      pending.reject(this.connection.failureOf(error));
    }
  }

  /** Sends the text if the server has lost the script. */
  failed(pending: PendingCall, error: unknown): void {
    if (error instanceof Error && error.message.startsWith('NOSCRIPT')) {
      this.loaded.clear();
      this.repeated += 1;
      this.write([pending.again()]);
    } else pending.reject(this.connection.failureOf(error));
  }
}

class Item<Request, Result> extends Deferred<Result> {
  constructor(readonly request: Request) {
    super();
  }
}

/** Collects the requests of one kind within a tick, and turns them into calls for many locks. */
export class ScriptBatch<Request extends { readonly key: string }, Reply, Result> implements CallSource {
  private items: Item<Request, Result>[] = [];

  /**
   * @param callFor creates the call for some requests
   * @param resultOf turns the reply for a request into its result; throws if it is an error
   */
  constructor(
    private readonly pipeline: Pipeline,
    private readonly callFor: (requests: readonly Request[]) => ScriptCall<Reply[]>,
    private readonly resultOf: (request: Request, reply: Reply) => Result | Promise<Result>,
    readonly goesFirst = false,
  ) {}

  add(request: Request): Deferred<Result> {
    const item = new Item<Request, Result>(request);
    const count = this.items.push(item);
    if (count === 1 && this.pipeline.isQuietFor(this)) this.pipeline.write(this.drain());
    else if (count === 1) this.pipeline.enqueueSource(this);
    // The server starts while the rest of the tick continues here.
    else if (count === LARGEST_CALL) this.pipeline.flushUpTo(this);
    return item;
  }

  /**
   * For a reply that is needed before this tick ends: requests of one turn of the microtask queue are sent together,
   * without waiting for the end of the tick.
   */
  addSoon(request: Request): Deferred<Result> {
    const item = new Item<Request, Result>(request);
    const count = this.items.push(item);
    if (count === 1) void SOON.then(this.sendNow);
    else if (count === LARGEST_CALL) this.sendNow();
    return item;
  }

  drain(): readonly PendingCall[] {
    const { items } = this;
    const { slotOf } = this.pipeline;
    if (items.length === 0) return [];
    this.items = [];
    if (slotOf === undefined || items.length === 1) return [this.callOf(items)];
    const bySlot = groupedBy(items, ({ request }) => slotOf(request.key));
    return Array.from(bySlot.values(), (some) => this.callOf(some));
  }

  private readonly sendNow = (): void => this.pipeline.write(this.drain());

  private callOf(items: readonly Item<Request, Result>[]): PendingCall {
    const call = this.callFor(items.map(({ request }) => request));
    const deliver = (raw: unknown): void => {
      const replies = call.decode(raw);
      // A script replies for each lock.
      items.forEach((item, index) => this.settle(item, replies[index] as Reply));
    };
    const reject = (error: LockStoreError): void => this.failed(items, error);
    return new PendingCall(this.pipeline, call, deliver, reject, this.goesFirst && items.length === 1);
  }

  private settle(item: Item<Request, Result>, reply: Reply): void {
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
        (value) => item.resolve(value),
        (error: unknown) => item.reject(error),
      );
    }
  }

  private failed(items: readonly Item<Request, Result>[], error: LockStoreError): void {
    // A problem of one lock, such as another type of value at its name, must not affect the others.
    if (items.length > 1 && !error.retryable) {
      for (const item of items) this.pipeline.enqueue(this.callOf([item]));
    } else for (const item of items) item.reject(error);
  }
}
