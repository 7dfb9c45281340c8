import type { Command, Redis } from 'ioredis';
import { Deferred } from '../../../common/deferred.js';
import { ioredis, plainCommand } from '../connection/ioredis.js';
import type { ScriptCall } from './scripts.js';

/** Longer arguments are rare. */
const MOST_HEADS = 256;

/** Not `queueMicrotask`, which fake timers of a test replace. */
const SOON = Promise.resolve();

/** Receives the outcome of a call. Must not throw: `replied` runs inside the parser of ioredis. */
export interface CallListener {
  replied(reply: unknown): void;
  failed(error: unknown): void;
}

/** The parts of an ioredis command that settle it, which are not in its public types. */
type CommandWithoutPromise = new (name: string) => {
  promise: PromiseLike<unknown>;
  /** Read by the command's own timer; each version of ioredis has one of the two. */
  isSettled: boolean;
  isResolved: boolean;
  /** Set if the user configured `commandTimeout`. */
  readonly _commandTimeoutTimer?: NodeJS.Timeout;
  initPromise(): void;
};

/** Creates the classes that send calls from those of ioredis, which is loaded when a connection to Redis is needed. */
function encoderOf({ Command, Redis }: ReturnType<typeof ioredis>) {
  /**
   * A call that is already encoded. ioredis would process the arguments of a call for many locks several times. The
   * listener gets the outcome; a promise is created only if something traces the client's commands: with asynchronous
   * contexts in use, a promise costs as much as decoding the reply.
   *
   * Tracing agents wrap `sendCommand`, read `args`, and replace `resolve` and `reject` by functions that call the original
   * ones without `this`. So these are functions of their own, as in commands of ioredis.
   */
  class EncodedCall extends (Command as unknown as CommandWithoutPromise) {
    declare promise: Deferred<unknown>;

    constructor(
      private readonly call: ScriptCall<unknown>,
      private readonly listener: CallListener,
      private readonly isLoaded: boolean,
    ) {
      super(isLoaded ? 'evalsha' : 'eval');
    }

    /** Made when something asks for it. */
    get args(): readonly (string | number)[] {
      const { text, keyCount, args } = this.call;
      return [this.isLoaded ? text.sha : text.source, keyCount, ...args];
    }

    /** Called by the constructor of ioredis. */
    set args(_none: readonly (string | number)[]) {
      // The arguments are those of the call.
    }

    /** Called by the constructor of ioredis, which would create a promise here. */
    override initPromise(): void {
      this.promise = new Deferred<unknown>();
    }

    readonly resolve = (reply: unknown): void => {
      if (!this.settle()) return;
      const text = textOf(reply);
      this.promise.resolve(text);
      this.listener.replied(text);
    };

    /** Notifies the listener after ioredis has finished, which may be closing the connection. */
    readonly reject = (error: unknown): void => {
      if (!this.settle()) return;
      this.promise.reject(error);
      void SOON.then(() => this.listener.failed(error));
    };

    /** The socket encodes a string without a `Buffer` for it. */
    toWritable(): string {
      return encode(this.call, this.isLoaded);
    }

    /** False if the call was settled before. */
    private settle(): boolean {
      if (this.isSettled) return false;
      this.isSettled = this.isResolved = true;
      clearTimeout(this._commandTimeoutTimer);
      return true;
    }
  }

  /** Whether this version of ioredis can send an `EncodedCall`. */
  return { EncodedCall, Redis, canEncode: 'initPromise' in Command.prototype };
}

let encoder: ReturnType<typeof encoderOf> | undefined;

/**
 * Sends a call. ioredis handles everything but the bytes and the outcome as for its own commands: the order of replies,
 * the failure when the connection closes. A client from another copy of ioredis gets plain arguments instead.
 *
 * @param isLoaded whether the server has the script; else its text is sent
 */
export function sendCall(
  redis: Redis,
  call: ScriptCall<unknown>,
  listener: CallListener,
  isLoaded: boolean,
): void {
  encoder ??= encoderOf(ioredis());
  if (encoder.canEncode && redis instanceof encoder.Redis) {
    const encoded = new encoder.EncodedCall(call, listener, isLoaded);
    const outcome = redis.sendCommand(encoded as unknown as Command) as PromiseLike<unknown> | undefined;
    // A wrapper of `sendCommand` may have sent a command of its own.
    if (outcome !== encoded.promise) outcome?.then(encoded.resolve, encoded.reject);
    return;
  }
  const { text, keyCount, args } = call;
  const reply = isLoaded
    ? plainCommand(redis, 'EVALSHA', text.sha, keyCount, ...args)
    : plainCommand(redis, 'EVAL', text.source, keyCount, ...args);
  reply.then(
    (received) => listener.replied(received),
    (error: unknown) => listener.failed(error),
  );
}

function textOf(reply: unknown): unknown {
  if (reply instanceof Buffer) return reply.toString();
  return Array.isArray(reply) ? reply.map(textOf) : reply;
}

/** `EVALSHA` or `EVAL` in the protocol of Redis (https://redis.io/docs/latest/develop/reference/protocol-spec/). */
function encode({ text, keyCount, args }: ScriptCall<unknown>, isLoaded: boolean): string {
  const count = String(keyCount);
  const [command, script] = isLoaded ? ['EVALSHA', text.sha] : ['EVAL', text.source];
  const start =
    `*${String(args.length + 3)}${headOf(command.length)}${command}` +
    `${headOf(Buffer.byteLength(script))}${script}${headOf(count.length)}${count}`;
  let line = start;
  for (const arg of args) {
    const value = typeof arg === 'string' ? arg : String(arg);
    line += headOf(value.length) + value;
  }
  line += '\r\n';
  // Nearly always: every character is one byte.
  if (Buffer.byteLength(line) === line.length) return line;
  line = start;
  for (const arg of args) {
    const value = String(arg);
    line += headOf(Buffer.byteLength(value)) + value;
  }
  return `${line}\r\n`;
}

/** By length: the names of locks have few lengths, and each call needs several heads. */
const heads: string[] = [];

/** Ends the previous argument and announces one of this length. */
function headOf(length: number): string {
  const head = heads[length];
  if (head !== undefined) return head;
  const made = `\r\n$${String(length)}\r\n`;
  if (length < MOST_HEADS) heads[length] = made;
  return made;
}
