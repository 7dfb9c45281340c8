import { LockOptionsError } from './lock.errors.js';
import { check, shown } from './option-checks.js';

/**
 * The key to lock, or several keys to acquire together, all or none (1 … 1 000). A key is a string of 1 … 1 024 bytes
 * in UTF-8. Several keys are acquired in the order of their UTF-16 code units, so that callers whose keys overlap do
 * not deadlock; a repeated key is acquired once.
 */
export type LockKey = string | readonly string[];

/** The most keys of one call: the script that acquires this many blocks Redis for a few ms. */
const MOST_KEYS = 1_000;

/** The longest key, bytes of UTF-8. */
const LONGEST_KEY = 1024;

/** Returns the checked key. */
export function checkKey(where: string, key: unknown): string {
  if (typeof (key as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function') {
    throw new LockOptionsError(
      `${where}: the key is a promise. Await it before the call; a key function must not be async, so compute in the method, and call withLock() there.`,
    );
  }
  check(typeof key === 'string', where, 'the key must be a string', key);
  if (key === '') {
    throw new LockOptionsError(`${where}: the key must not be empty.`);
  }
  // A UTF-16 unit takes at most three bytes of UTF-8, so short keys need no counting.
  if (key.length * 3 > LONGEST_KEY && Buffer.byteLength(key) > LONGEST_KEY) {
    throw new LockOptionsError(
      `${where}: the key must have at most ${String(LONGEST_KEY)} bytes in UTF-8; got ${String(Buffer.byteLength(key))} bytes. Use a hash of it.`,
    );
  }
  if (/\p{Surrogate}/u.test(key)) {
    throw new LockOptionsError(
      `${where}: the key ${shown(key)} contains half of a surrogate pair, which UTF-8 can't express.`,
    );
  }
  return key;
}

/** Whether a string is a valid key. */
export function isKey(key: string): boolean {
  try {
    checkKey('', key);
    return true;
  } catch {
    return false;
  }
}

/** Returns the only key, or all keys in the order in which they are acquired. */
export function checkKeys(where: string, key: unknown): LockKey {
  if (!Array.isArray(key)) return checkKey(where, key);
  if (key.length === 0) {
    throw new LockOptionsError(`${where}: the array of keys must not be empty. Give at least one key.`);
  }
  const keys = new Set<string>();
  for (const [index, each] of (key as readonly unknown[]).entries()) {
    keys.add(checkKey(`${where}, key ${String(index + 1)} of the array`, each));
  }
  const [first, ...others] = [...keys].sort();
  if (first === undefined || others.length === 0) return first ?? [];
  if (keys.size > MOST_KEYS) {
    throw new LockOptionsError(
      `${where}: at most ${String(MOST_KEYS)} keys can be acquired together; got ${String(keys.size)}. Lock what they have in common.`,
    );
  }
  return [first, ...others];
}
