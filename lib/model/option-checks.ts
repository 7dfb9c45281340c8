import { inspect } from 'node:util';
import { LONGEST_TIME } from '../common/clock.js';
import { LockOptionsError } from './lock.errors.js';

/** An invalid value for error messages: short, on one line, without the contents of objects, which may include passwords. */
export function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  if (typeof value === 'function') return 'a function';
  return inspect(value, { maxStringLength: 60, breakLength: Infinity });
}

/** Like {@link shown}, for values that may be a URL with a password. */
export function shownWithoutText(value: unknown): string {
  return typeof value === 'string' ? 'a string' : shown(value);
}

/** Throws a `LockOptionsError` that states the rule and the value. */
export function refuse(where: string, rule: string, value: unknown): never {
  throw new LockOptionsError(`${where}: ${rule}; got ${shown(value)}.`);
}

/** {@link refuse}s an invalid value. */
export function check(isGood: boolean, where: string, rule: string, value: unknown): asserts isGood {
  if (!isGood) refuse(where, rule, value);
}

/** Rejects misspelt options and those of other versions, instead of ignoring them. */
export function checkNames(where: string, options: object, known: ReadonlySet<string>): void {
  // No array of names: every call with options comes here.
  for (const name in options) {
    if (known.has(name) || !Object.hasOwn(options, name)) continue;
    throw new LockOptionsError(
      `${where}: unknown option "${name}". Known options are ${[...known].join(', ')}.`,
    );
  }
}

/** A number of milliseconds; fractions are rounded up. */
export function checkTime(
  where: string,
  name: string,
  value: unknown,
  bounds: { readonly min: number; readonly infinite?: boolean },
): number {
  if (bounds.infinite === true && value === Infinity) return Infinity;
  if (typeof value === 'number' && value >= bounds.min && value <= LONGEST_TIME) return Math.ceil(value);
  const orInfinity = bounds.infinite === true ? ', or Infinity' : '';
  const range = `from ${String(bounds.min)} to ${String(LONGEST_TIME)}${orInfinity}`;
  return refuse(where, `${name} must be a number of milliseconds ${range}`, value);
}

/** A whole number from 1. */
export function checkCount(where: string, name: string, value: unknown, max: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max) return value;
  return refuse(where, `${name} must be a whole number from 1 to ${String(max)}`, value);
}

/** A whole number from 0, or `Infinity`. */
export function checkBound(where: string, name: string, value: unknown): number {
  if (value === Infinity) return Infinity;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  return refuse(where, `${name} must be a whole number from 0, or Infinity`, value);
}

const LONGEST_PREFIX = 256;

/** The prefix of the locks' names. */
export function checkKeyPrefix(where: string, prefix: unknown): asserts prefix is string {
  const isText = typeof prefix === 'string' && !/\p{Surrogate}/u.test(prefix);
  check(isText, where, 'keyPrefix must be a well-formed string', prefix);
  const bytes = Buffer.byteLength(prefix);
  const rule = `keyPrefix must have at most ${String(LONGEST_PREFIX)} bytes in UTF-8`;
  check(bytes <= LONGEST_PREFIX, where, rule, bytes);
}

export function checkOneOf<T extends string>(
  where: string,
  name: string,
  value: unknown,
  allowed: readonly T[],
): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  const list = allowed.map((candidate) => `'${candidate}'`).join(' or ');
  return refuse(where, `${name} must be ${list}`, value);
}

export function checkObject(where: string, value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  return refuse(where, 'options must be an object', value);
}

/** Checks the value of an option and returns it, or its default for undefined. */
export type OptionCheck<T> = (where: string, name: string, value: unknown) => T;

/** What a table of checks returns. */
export type Checked<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends OptionCheck<infer T> ? T : never;
};

/**
 * Checks options by a table, and applies the defaults.
 *
 * @param others options that the caller checks
 */
export function checkOptions<Table extends Readonly<Record<string, OptionCheck<unknown>>>>(
  where: string,
  options: unknown,
  table: Table,
  others: readonly string[] = [],
): Checked<Table> {
  const given = checkObject(where, options) as Readonly<Record<string, unknown>>;
  checkNames(where, given, new Set([...others, ...Object.keys(table)]));
  const checked = Object.entries(table).map(([name, checkIt]) => [name, checkIt(where, name, given[name])]);
  return Object.fromEntries(checked) as Checked<Table>;
}

/** An option with a rule of its own, as an error states it after "must be". */
export function option<T, Default extends T | undefined = undefined>(
  rule: string,
  isGood: (value: unknown) => value is T,
  byDefault?: Default,
): OptionCheck<T | Default> {
  return (where, name, value) => {
    if (value === undefined) return byDefault as Default;
    check(isGood(value), where, `${name} must be ${rule}`, value);
    return value;
  };
}

export function flag(byDefault: boolean): OptionCheck<boolean> {
  return option('true or false', (value) => typeof value === 'boolean', byDefault);
}

/** See {@link checkTime}. */
export function time(byDefault: number, bounds: Parameters<typeof checkTime>[3]): OptionCheck<number> {
  return (where, name, value = byDefault) => checkTime(where, name, value, bounds);
}

/** See {@link checkOneOf}. */
export function oneOf<T extends string>(byDefault: T, others: readonly T[]): OptionCheck<T> {
  return (where, name, value = byDefault) => checkOneOf(where, name, value, [byDefault, ...others]);
}

/**
 * The options that a factory may return. If it returns one that belongs next to it, the compiler's message contains the
 * name of the property below.
 */
export type FactoryOptions<Options, Beside extends string> = Options &
  Readonly<Partial<Record<Beside, { readonly 'goes beside useFactory': never } | undefined>>>;

/**
 * A method that was taken from its object has no `this`.
 *
 * @param name of a variable with the object, for the message
 */
export function checkReceiver(receiver: unknown, method: string, what: string, name: string): void {
  if (receiver !== undefined) return;
  throw new LockOptionsError(
    `${method}() was called without its ${what}, as after const { ${method} } = ${name}. Call ${name}.${method}(…).`,
  );
}
