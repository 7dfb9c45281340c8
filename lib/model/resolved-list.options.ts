import type { ListKeysRequest } from '../stores/port/lock-store.js';
import type { LockListOptions } from './lock-info.js';
import { check, checkCount, checkNames, checkObject } from './option-checks.js';

const KNOWN: ReadonlySet<string> = new Set<keyof LockListOptions>(['match', 'cursor', 'count']);

/** The longest pattern, characters. */
const LONGEST_MATCH = 1_024;
const LARGEST_COUNT = 1_000;
/** Longer than that of any store, characters. */
const LONGEST_CURSOR = 8_192;

/** What a cursor has to be, as an error says it. */
export const CURSOR_RULE = 'cursor must be that of the answer before, or be left out to begin anew';

export function resolveListOptions(options: LockListOptions): ListKeysRequest {
  const where = 'list()';
  checkNames(where, checkObject(where, options), KNOWN);
  const { match = '*', cursor, count = 100 } = options;
  const isMatch = typeof match === 'string' && match !== '' && match.length <= LONGEST_MATCH;
  check(isMatch, where, `match must be a string of 1 to ${String(LONGEST_MATCH)} characters`, match);
  const isCursor =
    cursor === undefined || (typeof cursor === 'string' && cursor !== '' && cursor.length <= LONGEST_CURSOR);
  check(isCursor, where, CURSOR_RULE, cursor);
  return { match, cursor, count: checkCount(where, 'count', count, LARGEST_COUNT) };
}
