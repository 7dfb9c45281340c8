import { check, checkNames, checkObject } from './option-checks.js';

/** What `LockService.forceRelease` and `LockService.breakHold` take. */
export interface LockBreakOptions {
  /** Who has the lock broken, for the log and the `broken` event: 1 to 200 characters. */
  readonly by?: string | undefined;
  /**
   * Only the hold of this owner is broken: that which `inspect` told of a holder. An owner is used for one acquisition, so
   * that a later hold of the same process is another one.
   */
  readonly owner?: string | undefined;
  /** Only the hold with this token is broken: that which `inspect` told of a holder, or its handle has. */
  readonly token?: number | undefined;
}

/**
 * What became of a hold that was to be broken:
 * - `broken`: it is over;
 * - `free`: nobody held the lock, and nothing was done;
 * - `held-by-others`: the lock is held, but by no such hold any more, and nothing was done.
 */
export type LockBreakOutcome = 'broken' | 'free' | 'held-by-others';

const KNOWN: ReadonlySet<string> = new Set<keyof LockBreakOptions>(['by', 'owner', 'token']);
const LONGEST = 200;

/**
 * Of `forceRelease`. A condition that came out undefined is no condition: the lock would be broken whoever holds it.
 *
 * @throws LockOptionsError for options that can't work
 */
export function checkBreakOptions(options: LockBreakOptions): void {
  const where = 'forceRelease()';
  checkOptions(where, options);
  for (const name of ['owner', 'token'] as const) {
    const isMissing = name in options && options[name] === undefined;
    check(!isMissing, where, `leave ${name} out to break the lock whoever holds it`, options[name]);
  }
}

/**
 * Of `breakHold`.
 *
 * @throws LockOptionsError for options that can't work, or name no hold
 */
export function checkHoldBreakOptions(options: LockBreakOptions): void {
  const where = 'breakHold()';
  checkOptions(where, options);
  const { owner, token } = options;
  const isNamed = owner !== undefined || token !== undefined;
  check(isNamed, where, 'say which hold is to be broken, by its token or its owner', options);
}

function checkOptions(where: string, options: LockBreakOptions): void {
  checkNames(where, checkObject(where, options), KNOWN);
  const { by, owner, token } = options;
  const isName = by === undefined || (typeof by === 'string' && by.length >= 1 && by.length <= LONGEST);
  check(isName, where, `by must be a string of 1 to ${String(LONGEST)} characters`, by);
  const isOwner = owner === undefined || (typeof owner === 'string' && owner !== '');
  check(isOwner, where, 'owner must be that of a holder, as inspect() tells it', owner);
  const isToken = token === undefined || (Number.isSafeInteger(token) && token >= 0);
  check(isToken, where, 'token must be a whole number, that of a holder, as inspect() tells it', token);
}
