import { Command, Redis } from 'ioredis';
import { PendingReply } from '../../../common/pending-reply.js';
import type { ScriptCall } from '../scripts/script.js';

/** Longer words are rare. */
const MOST_HEADS = 256;

/** Not `queueMicrotask`, which fake timers of a test replace. */
const SOON = Promise.resolve();

/** Is told what came of a call: of a reply at once, so that it must not throw. */
export interface CallListener {
  replied(reply: unknown): void;
  failed(error: unknown): void;
}

/** What settles a command of ioredis, which its types keep to themselves. */
type CommandWithoutPromise = new (name: string) => {
  promise: PromiseLike<unknown>;
  /** For its own timer; versions know one of the two. */
  isSettled: boolean;
  isResolved: boolean;
  /** Where the user has set `commandTimeout`. */
  readonly _commandTimeoutTimer?: NodeJS.Timeout;
  initPromise(): void;
};

/**
 * A call whose bytes are ready for the wire: ioredis would take one for many locks apart word by word, several times. Its
 * outcome is told to a listener, and a promise is made for those only who trace the commands of the client: with
 * asynchronous contexts in use each one costs as much as to decode the reply.
 */
class EncodedCall extends (Command as unknown as CommandWithoutPromise) {
  declare promise: PendingReply<unknown>;

  constructor(
    private readonly bytes: Buffer,
    private readonly listener: CallListener,
  ) {
    super('evalsha');
  }

  /** Called by the constructor of ioredis, which would make a promise and what settles it. */
  override initPromise(): void {
    this.promise = new PendingReply<unknown>();
  }

  resolve(reply: unknown): void {
    if (this.isOver()) return;
    const text = textOf(reply);
    this.promise.resolve(text);
    this.listener.replied(text);
  }

  /** Tells it when what ioredis does with it is done: it may be closing the connection. */
  reject(error: unknown): void {
    if (this.isOver()) return;
    this.promise.reject(error);
    void SOON.then(() => {
      this.listener.failed(error);
    });
  }

  toWritable(): Buffer {
    return this.bytes;
  }

  /** Whether it has its outcome, as it will have now. */
  private isOver(): boolean {
    if (this.isSettled) return true;
    this.isSettled = this.isResolved = true;
    clearTimeout(this._commandTimeoutTimer);
    return false;
  }
}

/** Whether the class of ioredis is one that the call can be sent by. */
const canEncode = 'initPromise' in Command.prototype;

/**
 * Sends a call of a script. Everything about the command but its bytes and its outcome is the client's own: its place
 * among the replies, its failure when the connection goes. A client from another copy of ioredis than ours gets words.
 */
export function sendCall(redis: Redis, call: ScriptCall<unknown>, listener: CallListener): void {
  if (canEncode && redis instanceof Redis) {
    void redis.sendCommand(new EncodedCall(encode(call), listener) as unknown as Command);
    return;
  }
  const client = redis;
  client.evalsha(call.text.sha, call.keyCount, ...call.words).then(
    (reply) => {
      listener.replied(reply);
    },
    (error: unknown) => {
      listener.failed(error);
    },
  );
}

/** Replies come as bytes. */
function textOf(reply: unknown): unknown {
  if (reply instanceof Buffer) return reply.toString();
  return Array.isArray(reply) ? reply.map(textOf) : reply;
}

/** `EVALSHA` in the protocol of Redis (https://redis.io/docs/latest/develop/reference/protocol-spec/). */
export function encode({
  text,
  keyCount,
  words,
}: Pick<ScriptCall<unknown>, 'text' | 'keyCount' | 'words'>): Buffer {
  const count = String(keyCount);
  const start = `*${String(words.length + 3)}\r\n$7\r\nEVALSHA\r\n$40\r\n${text.sha}\r\n$${String(count.length)}\r\n${count}`;
  let line = start;
  for (const word of words) {
    const value = typeof word === 'string' ? word : String(word);
    line += headOf(value.length) + value;
  }
  line += '\r\n';
  // Nearly always: every character is one byte.
  if (Buffer.byteLength(line) === line.length) return Buffer.from(line, 'latin1');
  line = start;
  for (const word of words) {
    const value = String(word);
    line += headOf(Buffer.byteLength(value)) + value;
  }
  return Buffer.from(`${line}\r\n`);
}

/** By length: names of locks have few lengths, and this is done for each of them. */
const heads: string[] = [];

/** What ends the word before, and comes before a word of so many bytes. */
function headOf(length: number): string {
  const head = heads[length];
  if (head !== undefined) return head;
  const made = `\r\n$${String(length)}\r\n`;
  if (length < MOST_HEADS) heads[length] = made;
  return made;
}
