import type { ChainableCommander } from 'ioredis';
import type { LockStoreError } from '../../port/lock-store.js';
import { sendCall } from './encoded-call.js';
import type { ServerConnection } from '../connection/server-connection.js';
import type { ScriptCall } from '../scripts/script.js';

/** A call, and what is done with its reply. */
export interface PendingCall {
  readonly call: ScriptCall<unknown>;
  /** Takes the reply as it came from the server; throws if it can't be read. */
  deliver(reply: unknown): void;
  reject(error: LockStoreError): void;
}

export function letter<Reply>(
  call: ScriptCall<Reply>,
  resolve: (reply: Reply) => void,
  reject: (error: LockStoreError) => void,
): PendingCall {
  return {
    call,
    deliver: (reply) => {
      resolve(call.decode(reply));
    },
    reject,
  };
}

/** Requests of one kind that become calls of one script for many locks. */
export interface Gathering {
  /** Whether its calls go before the others' that are gathered: what is given back may be what these ask for, however early they did. */
  readonly goesFirst: boolean;
  /** Hands over the calls for all that was gathered; afterwards there is nothing gathered. */
  letters(): readonly PendingCall[];
}

/**
 * Sends what is asked for within one tick in one go (P21): requests of the same kind as one script, several scripts in
 * one pipeline.
 */
export class Pipeline {
  private letters: PendingCall[] = [];
  private gatherings: Gathering[] = [];
  private scheduled = false;
  /** Of those who wait until it is sent what was gathered. */
  private sent: Promise<void> | undefined;
  private onSent: (() => void) | undefined;
  /** Whether something was sent in this turn of the event loop already: what follows in it goes together, at its end. */
  private sentInTurn = false;
  /** Calls whose replies are awaited. */
  private underWay = 0;
  /** Scripts that the server is known to have, by digest. */
  private readonly loaded = new Set<string>();

  constructor(private readonly connection: ServerConnection) {}

  /** The next connection may lead to a server that knows none of the scripts. */
  disconnected(): void {
    this.loaded.clear();
  }

  /** Whether nothing is under way or about to be. */
  get isQuiet(): boolean {
    return this.underWay === 0 && !this.scheduled;
  }

  /** Resolves when all that was posted so far has been sent; undefined when it has been. */
  whenSent(): Promise<void> | undefined {
    if (!this.scheduled) return undefined;
    this.sent ??= new Promise((resolve) => {
      this.onSent = resolve;
    });
    return this.sent;
  }

  post<T>(call: ScriptCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.send(letter(call, resolve, reject));
    });
  }

  /** Posts a call without waiting for the end of the tick. */
  postNow<T>(call: ScriptCall<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.sendNow([letter(call, resolve, reject)]);
    });
  }

  /** Posts a call that the server is to take though the slot is only on its way to it. */
  async postAsking<T>(call: ScriptCall<T>): Promise<T> {
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

  /** Sends one call with the others of this tick, after what was gathered. */
  send(posted: PendingCall): void {
    this.letters.push(posted);
    this.schedule();
  }

  /** Asks a gathering for its calls at the end of this tick; but for those that go first, in the order of their first requests. */
  include(gathering: Gathering): void {
    if (gathering.goesFirst) {
      this.gatherings.unshift(gathering);
      // A place in a queue that was asked for before is there before the lock passes on: strict order counts on that.
      if (this.letters.length > 0) this.gatherings.unshift(alreadyPosted(this.letters));
      this.letters = [];
    } else this.gatherings.push(gathering);
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
    const letters = this.gatherings.flatMap((gathering) => gathering.letters()).concat(this.letters);
    this.letters = [];
    this.gatherings = [];
    this.sendNow(letters);
    this.onSent?.();
    this.sent = this.onSent = undefined;
  };

  /** Sends what a gathering has, and what was gathered before it, without waiting for the end of the tick. */
  sendUpTo(last: Gathering): void {
    for (const gathering of this.gatherings) {
      this.sendNow(gathering.letters());
      if (gathering === last) return;
    }
  }

  /** Sends calls without waiting for the end of the tick. */
  sendNow(letters: readonly PendingCall[]): void {
    try {
      this.connection.check();
    } catch (error) {
      for (const posted of letters) posted.reject(this.connection.failureOf(error));
      return;
    }
    const [first] = letters;
    if (first === undefined) return;
    if (letters.length > 1) this.sendTogether(letters);
    else this.sendAlone(first);
  }

  private sendAlone(posted: PendingCall): void {
    this.underWay += 1;
    const { call } = posted;
    const isLoaded = this.loaded.has(call.text.sha);
    (isLoaded ? sendCall(this.connection.redis, call) : this.sendText(call)).then(
      (reply) => {
        this.underWay -= 1;
        if (!isLoaded) this.loaded.add(call.text.sha);
        this.answered(posted, reply);
      },
      (error: unknown) => {
        this.underWay -= 1;
        this.failed(posted, error);
      },
    );
  }

  private sendTogether(letters: readonly PendingCall[]): void {
    let pipeline: ChainableCommander = this.connection.redis.pipeline();
    for (const { call } of letters) {
      const { text, keyCount, words } = call;
      pipeline = this.loaded.has(text.sha)
        ? pipeline.evalsha(text.sha, keyCount, ...words)
        : pipeline.eval(text.source, keyCount, ...words);
    }
    this.underWay += 1;
    pipeline.exec().then(
      (replies) => {
        this.underWay -= 1;
        letters.forEach((posted, index) => {
          const [error, reply] = replies?.[index] ?? [new Error('Connection is closed.')];
          if (error) this.failed(posted, error);
          else {
            this.loaded.add(posted.call.text.sha);
            this.answered(posted, reply);
          }
        });
      },
      (error: unknown) => {
        this.underWay -= 1;
        for (const posted of letters) posted.reject(this.connection.failureOf(error));
      },
    );
  }

  private answered(posted: PendingCall, reply: unknown): void {
    try {
      posted.deliver(reply);
    } catch (error) {
      posted.reject(this.connection.failureOf(error));
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
  private failed(posted: PendingCall, error: unknown): void {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) {
      posted.reject(this.connection.failureOf(error));
      return;
    }
    this.loaded.clear();
    this.sendText(posted.call).then(
      (reply) => {
        this.answered(posted, reply);
      },
      (cause: unknown) => {
        posted.reject(this.connection.failureOf(cause));
      },
    );
  }
}

/** Calls that are sent once, before what is gathered after them. */
function alreadyPosted(calls: PendingCall[]): Gathering {
  return { goesFirst: true, letters: () => calls.splice(0) };
}
