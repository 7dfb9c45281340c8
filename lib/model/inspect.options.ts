import type { ListKeysRequest } from '../stores/port/lock-store.js';
import type { LockListOptions } from './lock-info.js';
import { check, checkCount, checkNames, checkObject } from './option-checks.js';

/** Options of `LockService.forceRelease` and `LockService.breakHold`. */
export interface LockBreakOptions {
  /** The person who breaks the lock, for the log and the `broken` event: 1 to 200 characters. */
  readonly by?: string | undefined;
  /**
   * Breaks only the hold of this owner, as `inspect` returns it. An owner is used for one acquisition, so a later hold of the
   * same process has another one.
   */
  readonly owner?: string | undefined;
  /** Breaks only the hold with this token, as `inspect` or the handle returns it. */
  readonly token?: number | undefined;
}

/**
 * The result of breaking a hold:
 * - `broken`: the hold has ended;
 * - `free`: nobody held the lock, and nothing was done;
 * - `held-by-others`: the lock is held, but that hold no longer exists, and nothing was done.
 */
export type LockBreakOutcome = 'broken' | 'free' | 'held-by-others';

const BREAK_OPTIONS: ReadonlySet<string> = new Set<keyof LockBreakOptions>(['by', 'owner', 'token']);

/** The longest `by`, characters. */
const LONGEST_BY = 200;

/**
 * Checks the options of `forceRelease`. It rejects a condition that is undefined, which would break the lock whoever holds it.
 *
 * @throws LockOptionsError for invalid options
 */
export function checkBreakOptions(options: LockBreakOptions): void {
  const where = 'forceRelease()';
  checkOptions(where, options);
  for (const name of ['owner', 'token'] as const) {
    const isMissing = name in options && options[name] === undefined;
    check(!isMissing, where, `leave ${name} out to break the lock regardless of its holder`, options[name]);
  }
}

/**
 * Checks the options of `breakHold`.
 *
 * @throws LockOptionsError for invalid options, or without an owner and a token
 */
export function checkHoldBreakOptions(options: LockBreakOptions): void {
  const where = 'breakHold()';
  checkOptions(where, options);
  const { owner, token } = options;
  const isNamed = owner !== undefined || token !== undefined;
  check(isNamed, where, 'say which hold is to be broken, by its token or its owner', options);
}

function checkOptions(where: string, options: LockBreakOptions): void {
  checkNames(where, checkObject(where, options), BREAK_OPTIONS);
  const { by, owner, token } = options;
  const isName = by === undefined || (typeof by === 'string' && by.length >= 1 && by.length <= LONGEST_BY);
  check(isName, where, `by must be a string of 1 to ${String(LONGEST_BY)} characters`, by);
  const isOwner = owner === undefined || (typeof owner === 'string' && owner !== '');
  check(isOwner, where, 'owner must be the owner of a holder, as inspect() returns it', owner);
  const isToken = token === undefined || (Number.isSafeInteger(token) && token >= 0);
  check(
    isToken,
    where,
    'token must be a whole number: the token of a holder, as inspect() returns it',
    token,
  );
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
