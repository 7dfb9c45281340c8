import type { ChainableCommander } from 'ioredis';
import type { LockStoreError } from '../../port/lock-store.js';
import { sendCall } from './encoded-call.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { ScriptCall } from '../scripts/script.js';

/** A call, and what is done with its reply. */
export interface PendingCall {
  readonly call: ScriptCall<unknown>;
  /** Whether it gives one lock back, so that as a rule nobody waits for its reply. */
  readonly isLoneRelease: boolean;
  /** Takes the reply as it came from the server; throws if it can't be read. */
  deliver(reply: unknown): void;
  reject(error: LockStoreError): void;
}

export function pendingCall<Reply>(
  call: ScriptCall<Reply>,
  resolve: (reply: Reply) => void,
  reject: (error: LockStoreError) => void,
  isLoneRelease = false,
): PendingCall {
  return {
    call,
    isLoneRelease,
    deliver: (reply) => {
      resolve(call.decode(reply));
    },
    reject,
  };
}

/** Requests of one kind that become calls of one script for many locks. */
export interface CallBatch {
  /** Whether its calls go before those of other batches: what is given back may be what these ask for, however early they did. */
  readonly goesFirst: boolean;
  /** Hands over the calls for all its requests, and is empty then. */
  drain(): readonly PendingCall[];
}

/**
 * Sends what is asked for within one tick in one go (P21): requests of the same kind as one script, several scripts in
 * one pipeline.
 */
export class Pipeline {
  private calls: PendingCall[] = [];
  private batches: CallBatch[] = [];
  private scheduled = false;
  /** Of those who wait until all that is pending has been sent. */
  private sent: Promise<void> | undefined;
  private onSent: (() => void) | undefined;
  /** Whether something was sent in this turn of the event loop already: what follows in it goes together, at its end. */
  private sentInTurn = false;
  /** Calls whose replies are awaited. */
  private underWay = 0;
  /** Those of them that give one lock back. */
  private loneReleases = 0;
  /** Scripts that the server is known to have, by digest. */
  private readonly loaded = new Set<string>();

  constructor(private readonly connection: ServerConnection) {}

  /** The next connection may lead to a server that knows none of the scripts. */
  disconnected(): void {
    this.loaded.clear();
  }

  /**
   * Whether there is nothing to wait for with the first request of a batch: nothing else is under way or about to be, but
   * for what the same caller gave back before it asked.
   */
  isQuietFor(batch: CallBatch): boolean {
    if (this.scheduled) return false;
    return this.underWay === 0 || (this.underWay === 1 && this.loneReleases === 1 && !batch.goesFirst);
  }

  /** Resolves when all that was given to it so far has been sent; undefined when it has been. */
  whenSent(): Promise<void> | undefined {
    if (!this.scheduled) return undefined;
    this.sent ??= new Promise((resolve) => {
      this.onSent = resolve;
    });
    return this.sent;
  }

  send<T>(call: ScriptCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.enqueue(pendingCall(call, resolve, reject));
    });
  }

  /** Sends a call at the end of this tick, before those of the batches: what it gives back may be what these ask for. */
  sendFirst<T>(call: ScriptCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.enqueueBatch(batchOf([pendingCall(call, resolve, reject)]));
    });
  }

  /** Sends a call without waiting for the end of the tick. */
  sendNow<T>(call: ScriptCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.write([pendingCall(call, resolve, reject)]);
    });
  }

  /** Sends a call that the server is to take though the slot is only on its way to it. */
  async sendAsking<T>(call: ScriptCall<T>): Promise<T> {
    const { text, keyCount, words } = call;
    this.connection.check();
    try {
      const answers = await this.connection.redis
        .pipeline()
        .asking()
        .eval(text.source, keyCount, ...words)
        .exec();
      const [error, reply] = answers?.[1] ?? [new Error('Connection is closed.')];
      if (error) throw error;
      return call.decode(reply);
    } catch (error) {
      throw this.connection.failureOf(error);
    }
  }

  /** Sends one call at the end of this tick, after those of the batches. */
  enqueue(pending: PendingCall): void {
    this.calls.push(pending);
    this.schedule();
  }

  /** Asks a batch for its calls at the end of this tick; but for those that go first, in the order of their first requests. */
  enqueueBatch(batch: CallBatch): void {
    if (batch.goesFirst) {
      this.batches.unshift(batch);
      // A place in a queue that was asked for before is there before the lock passes on: strict order counts on that.
      if (this.calls.length > 0) this.batches.unshift(batchOf(this.calls));
      this.calls = [];
    } else this.batches.push(batch);
    this.schedule();
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
    const calls = this.batches.flatMap((batch) => batch.drain()).concat(this.calls);
    this.calls = [];
    this.batches = [];
    this.write(calls);
    this.onSent?.();
    this.sent = this.onSent = undefined;
  };

  /** Sends what a batch has, and the batches before it, without waiting for the end of the tick. */
  flushUpTo(last: CallBatch): void {
    for (const batch of this.batches) {
      this.write(batch.drain());
      if (batch === last) return;
    }
  }

  /** Sends calls without waiting for the end of the tick. */
  write(calls: readonly PendingCall[]): void {
    try {
      this.connection.check();
    } catch (error) {
      for (const pending of calls) pending.reject(this.connection.failureOf(error));
      return;
    }
    const [first] = calls;
    if (first === undefined) return;
    if (calls.length > 1) this.writeAll(calls);
    else this.writeOne(first);
  }

  private writeOne(pending: PendingCall): void {
    const { call, isLoneRelease } = pending;
    const { sha } = call.text;
    this.underWay += 1;
    if (isLoneRelease) this.loneReleases += 1;
    const ended = (): void => {
      this.underWay -= 1;
      if (isLoneRelease) this.loneReleases -= 1;
    };
    const listener = {
      replied: (reply: unknown): void => {
        ended();
        this.answered(pending, reply);
      },
      failed: (error: unknown): void => {
        ended();
        this.failed(pending, error);
      },
    };
    if (this.loaded.has(sha)) sendCall(this.connection.redis, call, listener);
    else {
      this.sendText(call).then((reply) => {
        this.loaded.add(sha);
        listener.replied(reply);
      }, listener.failed);
    }
  }

  private writeAll(calls: readonly PendingCall[]): void {
    let pipeline: ChainableCommander = this.connection.redis.pipeline();
    for (const { call } of calls) {
      const { text, keyCount, words } = call;
      pipeline = this.loaded.has(text.sha)
        ? pipeline.evalsha(text.sha, keyCount, ...words)
        : pipeline.eval(text.source, keyCount, ...words);
    }
    this.underWay += 1;
    pipeline.exec().then(
      (replies) => {
        this.underWay -= 1;
        calls.forEach((pending, index) => {
          const [error, reply] = replies?.[index] ?? [new Error('Connection is closed.')];
          if (error) this.failed(pending, error);
          else {
            this.loaded.add(pending.call.text.sha);
            this.answered(pending, reply);
          }
        });
      },
      (error: unknown) => {
        this.underWay -= 1;
        for (const pending of calls) pending.reject(this.connection.failureOf(error));
      },
    );
  }

  private answered(pending: PendingCall, reply: unknown): void {
    try {
      pending.deliver(reply);
    } catch (error) {
      pending.reject(this.connection.failureOf(error));
    }
  }

  /**
   * P6: by digest, but for the first time on a connection: a call that had to be sent again would be carried out after those
   * that were sent behind it, such as a release after the next request for the same lock.
   */
  private sendText({ text, keyCount, words }: ScriptCall<unknown>): Promise<unknown> {
    return this.connection.redis.eval(text.source, keyCount, ...words);
  }

  /** With the text once more, where the server does not know it any more. */
  private failed(pending: PendingCall, error: unknown): void {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) {
      pending.reject(this.connection.failureOf(error));
      return;
    }
    this.loaded.clear();
    this.sendText(pending.call).then(
      (reply) => {
        this.answered(pending, reply);
      },
      (cause: unknown) => {
        pending.reject(this.connection.failureOf(cause));
      },
    );
  }
}

/** Calls that are sent once, before the batches after them. */
function batchOf(calls: PendingCall[]): CallBatch {
  return { goesFirst: true, drain: () => calls.splice(0) };
}
