import { createHash } from 'node:crypto';
import { luaSource } from './lua-source.generated.js';

type Word = string | number;

/** What a Lua script takes and answers. The header of the script says the same, and a test compares them (P5). */
export interface ScriptBinding<Key extends string, Arg extends string, Reply> {
  readonly name: keyof typeof luaSource;
  /** Names of KEYS, in order. */
  readonly keys: readonly Key[];
  /** Names of ARGV, in order. */
  readonly args: readonly Arg[];
  readonly decode: (reply: unknown) => Reply;
}

/** A script that does the same for many locks: KEYS and ARGV are repeated for each, then come those that all share. */
export interface ManyScriptBinding<
  Key extends string,
  Arg extends string,
  SharedKey extends string,
  SharedArg extends string,
  Reply,
> extends ScriptBinding<Key, Arg, Reply> {
  readonly sharedKeys: readonly SharedKey[];
  readonly sharedArgs: readonly SharedArg[];
  /** One of the replies. A script may answer with one for all. */
  readonly decode: (reply: unknown) => Reply;
}

/** What every script has that is sent to a server. */
export class ScriptText {
  readonly source: string;
  readonly sha: string;

  constructor(name: keyof typeof luaSource) {
    this.source = luaSource[name];
    this.sha = createHash('sha1').update(this.source).digest('hex');
  }
}

/** A script with the words of one call. */
export interface ScriptCall<Reply> {
  readonly text: ScriptText;
  readonly keyCount: number;
  /** KEYS and ARGV. */
  readonly words: readonly Word[];
  readonly decode: (reply: unknown) => Reply;
}

export class Script<Key extends string, Arg extends string, Reply> {
  private readonly text: ScriptText;

  constructor(readonly binding: ScriptBinding<Key, Arg, Reply>) {
    this.text = new ScriptText(binding.name);
  }

  with(keys: Readonly<Record<Key, string>>, args: Readonly<Record<Arg, Word>>): ScriptCall<Reply> {
    const { binding, text } = this;
    const words: Word[] = [];
    for (const key of binding.keys) words.push(keys[key]);
    for (const arg of binding.args) words.push(args[arg]);
    return { text, keyCount: binding.keys.length, words, decode: binding.decode };
  }
}

export class ManyScript<
  Key extends string,
  Arg extends string,
  SharedKey extends string,
  SharedArg extends string,
  Reply,
> {
  private readonly text: ScriptText;

  constructor(readonly binding: ManyScriptBinding<Key, Arg, SharedKey, SharedArg, Reply>) {
    this.text = new ScriptText(binding.name);
  }

  with(
    each: readonly Readonly<Record<Key, string> & Record<Arg, Word>>[],
    shared: Readonly<Record<SharedKey, string> & Record<SharedArg, Word>>,
  ): ScriptCall<Reply[]> {
    const { binding, text } = this;
    const words: Word[] = [];
    for (const one of each) for (const key of binding.keys) words.push(one[key]);
    for (const key of binding.sharedKeys) words.push(shared[key]);
    const keyCount = words.length;
    for (const one of each) for (const arg of binding.args) words.push(one[arg]);
    for (const arg of binding.sharedArgs) words.push(shared[arg]);
    const decode = (replies: unknown): Reply[] =>
      Array.isArray(replies)
        ? replies.map((reply: unknown) => binding.decode(reply))
        : each.map(() => binding.decode(replies));
    return { text, keyCount, words, decode };
  }
}
