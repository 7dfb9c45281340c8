import { check, checkNames, checkObject } from './option-checks.js';

/** What `LockService.forceRelease` takes. */
export interface LockBreakOptions {
  /** Who has the lock broken, for the log and the `broken` event: 1 to 200 characters. */
  readonly by?: string | undefined;
  /**
   * The lock is broken only if this owner holds it, or a share of it: that which `inspect` told of a holder. Left out, it
   * is broken whoever holds it.
   */
  readonly owner?: string | undefined;
}

const KNOWN: ReadonlySet<string> = new Set<keyof LockBreakOptions>(['by', 'owner']);
const LONGEST = 200;

/** @throws LockOptionsError for options that can't work */
export function checkBreakOptions(options: LockBreakOptions): void {
  const where = 'forceRelease()';
  checkNames(where, checkObject(where, options), KNOWN);
  const { by, owner } = options;
  const isName = by === undefined || (typeof by === 'string' && by.length >= 1 && by.length <= LONGEST);
  check(isName, where, `by must be a string of 1 to ${String(LONGEST)} characters`, by);
  const isOwner = owner === undefined || (typeof owner === 'string' && owner !== '');
  check(isOwner, where, 'owner must be that of a holder, as inspect() tells it', owner);
}
