import type { Entry } from './entry.js';
import type { LockState } from './lock-reader.js';

/** Of so many locks it is remembered what was known of them. */
const MOST = 100;

type Known = Pick<LockState, 'entries' | 'revision'>;

/** What was known of locks when the session was granted a share of them: a next share may be had by it, if it is still true. */
export class KnownShares {
  private readonly byKey = new Map<string, Known>();

  /** All entries of a lock as of that revision, the oldest first. */
  add(key: string, entries: readonly Entry[], revision: number): void {
    this.byKey.delete(key);
    this.byKey.set(key, { entries, revision });
    const [oldest] = this.byKey.keys();
    if (this.byKey.size > MOST && oldest !== undefined) this.byKey.delete(oldest);
  }

  /** It is told once. */
  take(key: string): Known | undefined {
    const known = this.byKey.get(key);
    this.byKey.delete(key);
    return known;
  }

  /** All of it may be of another time. */
  clear(): void {
    this.byKey.clear();
  }
}
