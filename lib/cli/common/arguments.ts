import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from './exit-codes.js';
import { withoutSecrets } from './output.js';

export type OptionSpecs = NonNullable<ParseArgsConfig['options']>;

/** Options of every command. */
const COMMON = {
  redis: { type: 'string', multiple: true },
  cluster: { type: 'boolean' },
  sentinel: { type: 'string' },
  'key-prefix': { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const satisfies OptionSpecs;

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** The arguments of a command, by the names of its options. */
export class CommandArguments {
  private constructor(
    readonly positionals: readonly string[],
    private readonly values: Readonly<Record<string, unknown>>,
  ) {}

  /** @throws UsageError for options that the command does not have */
  static parse(args: readonly string[], specs: OptionSpecs): CommandArguments {
    try {
      const options = { ...COMMON, ...specs };
      const { positionals, values } = parseArgs({ args: [...args], options, allowPositionals: true });
      return new CommandArguments(positionals, values);
    } catch (error) {
      const { message } = error as Error;
      const [, option] =
        /^Option '(?:-\w, )?(--[\w-]+).*' argument (?:is ambiguous|missing)/.exec(message) ?? [];
      if (option !== undefined) {
        throw new UsageError(`${option} needs a value. Write ${option}=VALUE if the value begins with -.`);
      }
      // Only the first sentence: the others suggest positional arguments that this program does not have.
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

  /** A whole number. */
  count(name: string, min = 1, max = Infinity): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= min && number <= max) return number;
    const end = max === Infinity ? '' : ` to ${max}`;
    throw new UsageError(`--${name} must be a whole number from ${min}${end}.`);
  }

  /** The only positional argument. Errors don't quote it, since it may be a misplaced URL with a password. */
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

  refusePositionals(): void {
    if (this.positionals.length > 0) {
      throw new UsageError(
        'This command has options only. An address follows --redis, a pattern follows --match.',
      );
    }
  }
}

/** Parses a duration such as `500ms`, `10s`, `5m` or `1h` into ms; 0 needs no unit. */
export function parseDuration(option: string, text: string): number {
  if (text === '0') return 0;
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS.get(unit);
  if (factor === undefined) {
    throw new UsageError(`--${option} must be a duration with its unit, such as 500ms, 10s, 5m or 1h.`);
  }
  return Number(amount) * factor;
}
