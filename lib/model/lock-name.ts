import { check } from './option-checks.js';

/** So many names are told apart; whatever comes after them is told as `other`. */
const MOST_NAMES = 200;

/** The longest name, characters. */
const LONGEST_NAME = 100;

/** The name of locks that were given none. */
export const DEFAULT_NAME = 'default';

const OTHER = 'other';

/** Of all modules of the process: they share the registry of its metrics. */
const names = new Set<string>([DEFAULT_NAME]);

/** The name as metrics and events have it: there is an end to them even where somebody makes names of keys. */
export function toldName(name: string): string {
  if (names.has(name)) return name;
  if (names.size >= MOST_NAMES) return OTHER;
  names.add(name);
  return name;
}

export function checkName(where: string, name: unknown): string {
  const isGood = typeof name === 'string' && name.length <= LONGEST_NAME && /^[^\p{C}]+$/u.test(name);
  check(isGood, where, `name must be a string of 1 to ${String(LONGEST_NAME)} printable characters`, name);
  return name;
}
