import type { LockListOptions } from './lock-info.js';
import { check, checkCount, checkNames, checkObject } from './option-checks.js';
import type { ListKeysRequest, NamedHold } from './store.js';

/** Options of `LockAdmin.forceRelease` and `LockAdmin.breakHold`. */
export interface LockBreakOptions {
  /** Names the person who breaks the lock in the log and the `broken` event: 1 to 200 characters. */
  readonly by?: string | undefined;
}

/**
 * The result of breaking a hold:
 * - `broken`: the hold has ended;
 * - `free`: the lock was free, and nothing was done;
 * - `held-by-others`: the lock is held, but that hold no longer exists, and nothing was done.
 */
export type LockBreakOutcome = 'broken' | 'free' | 'held-by-others';

const BREAK_OPTIONS: ReadonlySet<string> = new Set<keyof LockBreakOptions>(['by']);

/** The longest `by`, characters. */
const LONGEST_BY = 200;

/**
 * Returns the checked `by`.
 *
 * @throws LockOptionsError for invalid options
 */
export function checkBreakOptions(where: string, options: LockBreakOptions): string | undefined {
  checkNames(where, checkObject(where, options), BREAK_OPTIONS);
  const { by } = options;
  const isName = by === undefined || (typeof by === 'string' && by.length >= 1 && by.length <= LONGEST_BY);
  check(isName, where, `by must be a string of 1 to ${String(LONGEST_BY)} characters`, by);
  return by;
}

/**
 * Returns the checked owner and token. Other properties, such as those of a `LockHolder`, are ignored.
 *
 * @throws LockOptionsError for an invalid owner or token, or without both
 */
export function checkNamedHold(where: string, hold: NamedHold): NamedHold {
  checkObject(where, hold);
  const { owner, token } = hold;
  const isNamed = owner !== undefined || token !== undefined;
  check(isNamed, where, 'name the hold to break by its token or its owner, as inspect() returns them', hold);
  const isOwner = owner === undefined || (typeof owner === 'string' && owner !== '');
  check(isOwner, where, 'owner must be that of a holder, as inspect() returns it', owner);
  const isToken = token === undefined || (Number.isSafeInteger(token) && token >= 0);
  check(isToken, where, 'token must be a whole number, that of a holder, as inspect() returns it', token);
  return { owner, token };
}

const LIST_OPTIONS: ReadonlySet<string> = new Set<keyof LockListOptions>(['match', 'cursor', 'count']);

/** The longest pattern, characters. */
const LONGEST_MATCH = 1_024;
const LARGEST_COUNT = 1_000;
/** Longer than the cursors of all stores, characters. */
const LONGEST_CURSOR = 8_192;

/** The rule for a cursor, as an error states it. */
export const CURSOR_RULE = 'cursor must be the one of the previous page, or be left out to start again';

export function resolveListOptions(options: LockListOptions): ListKeysRequest {
  const where = 'list()';
  checkNames(where, checkObject(where, options), LIST_OPTIONS);
  const { match = '*', cursor, count = 100 } = options;
  const isMatch = typeof match === 'string' && match !== '' && match.length <= LONGEST_MATCH;
  check(isMatch, where, `match must be a string of 1 to ${String(LONGEST_MATCH)} characters`, match);
  const isCursor =
    cursor === undefined || (typeof cursor === 'string' && cursor !== '' && cursor.length <= LONGEST_CURSOR);
  check(isCursor, where, CURSOR_RULE, cursor);
  return { match, cursor, count: checkCount(where, 'count', count, LARGEST_COUNT) };
}
