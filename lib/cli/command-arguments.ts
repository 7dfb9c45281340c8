import { parseArgs, type ParseArgsConfig } from 'node:util';
import { withoutSecrets } from './output/printable.js';
import { UsageError } from './usage-error.js';

type OptionSpecs = NonNullable<ParseArgsConfig['options']>;

/** Options that every command has. */
const COMMON = {
  redis: { type: 'string', multiple: true },
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  'key-prefix': { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies OptionSpecs;

/** What a command has been given, by the names of its options. */
export class CommandArguments {
  private constructor(
    readonly positionals: readonly string[],
    private readonly values: Readonly<Record<string, unknown>>,
  ) {}

  /** @throws UsageError for options that the command does not have */
  static parse(args: readonly string[], own: OptionSpecs): CommandArguments {
    try {
      const options = { ...COMMON, ...own };
      const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
      return new CommandArguments(positionals, values);
    } catch (error) {
      const { message } = error as Error;
      // What follows is advice for programs that take other arguments than these.
      throw new UsageError(withoutSecrets(message.split(/\.\s/)[0] ?? message).replace(/\.?$/, '.'));
    }
  }

  text(name: string): string | undefined {
    const value = this.values[name];
    return typeof value === 'string' ? value : undefined;
  }

  texts(name: string): readonly string[] {
    const value = this.values[name];
    return Array.isArray(value) ? (value as readonly string[]) : [];
  }

  flag(name: string): boolean {
    return this.values[name] === true;
  }

  has(name: string): boolean {
    return this.values[name] !== undefined;
  }

  /** A whole number from 1. */
  count(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (number < 1) throw new UsageError(`--${name} must be a whole number from 1.`);
    return number;
  }

  /** The only argument; what is given is not shown, since it may be a URL in the wrong place. */
  key(): string {
    const [key, ...others] = this.positionals;
    if (key === undefined || key === '') throw new UsageError('Give the KEY of a lock.');
    if (others.length > 0) {
      throw new UsageError(
        'Give one KEY only. Quote a key that has blanks, and write -- before one that begins with -.',
      );
    }
    return key;
  }

  nothingElse(): void {
    if (this.positionals.length > 0) {
      throw new UsageError(
        'This command has options only. An address follows --redis, a pattern follows --match.',
      );
    }
  }
}
