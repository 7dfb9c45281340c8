import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { luaSource } from './lua-source.generated.js';

/** What a Lua script takes and answers. The header of the script says the same, and a test compares them (P5). */
export interface ScriptBinding<Key extends string, Arg extends string, Reply> {
  readonly name: keyof typeof luaSource;
  /** Names of KEYS, in order. */
  readonly keys: readonly Key[];
  /** Names of ARGV, in order. */
  readonly args: readonly Arg[];
  /** Whether KEYS and ARGV are repeated for many locks. */
  readonly many?: true;
  decode(reply: unknown): Reply;
}

export class Script<Key extends string, Arg extends string, Reply> {
  private readonly source: string;
  private readonly sha: string;

  constructor(readonly binding: ScriptBinding<Key, Arg, Reply>) {
    this.source = luaSource[binding.name];
    this.sha = createHash('sha1').update(this.source).digest('hex');
  }

  run(
    client: Redis,
    keys: Readonly<Record<Key, string>>,
    args: Readonly<Record<Arg, string | number>>,
  ): Promise<Reply> {
    const { binding } = this;
    const words: (string | number)[] = [];
    for (const key of binding.keys) words.push(keys[key]);
    for (const arg of binding.args) words.push(args[arg]);
    return this.send(client, binding.keys.length, words);
  }

  runMany(
    client: Redis,
    each: readonly (Readonly<Record<Key, string>> & Readonly<Record<Arg, string | number>>)[],
  ): Promise<Reply> {
    const { binding } = this;
    const words: (string | number)[] = [];
    for (const one of each) for (const key of binding.keys) words.push(one[key]);
    for (const one of each) for (const arg of binding.args) words.push(one[arg]);
    return this.send(client, each.length * binding.keys.length, words);
  }

  /** P6: by digest; with the text once, where the server does not know it (any more). */
  private async send(client: Redis, keyCount: number, words: (string | number)[]): Promise<Reply> {
    let reply: unknown;
    try {
      reply = await client.evalsha(this.sha, keyCount, ...words);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      reply = await client.eval(this.source, keyCount, ...words);
    }
    return this.binding.decode(reply);
  }
}
