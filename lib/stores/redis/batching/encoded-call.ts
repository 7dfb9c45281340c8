import { Command, Redis } from 'ioredis';
import type { ScriptCall } from '../scripts/script.js';

/** Longer words are rare. */
const MOST_HEADS = 256;

/** A call whose bytes are ready for the wire: ioredis would take one for many locks apart word by word, several times. */
class EncodedCall extends Command {
  constructor(private readonly bytes: Buffer) {
    super('evalsha', [], { replyEncoding: 'utf8' });
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

/**
 * Sends a call of a script. Everything about the command but its bytes is the client's own: its place among the replies,
 * its failure when the connection goes. A client from another copy of ioredis than ours gets words.
 */
export function sendCall(redis: Redis, call: ScriptCall<unknown>): Promise<unknown> {
  if (redis instanceof Redis) return redis.sendCommand(new EncodedCall(encode(call))) as Promise<unknown>;
  const client = redis as Redis;
  return client.evalsha(call.text.sha, call.keyCount, ...call.words);
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
