import type { LockRange } from './key-names.js';
import type { LockContext } from './lock-context.js';
import type { LockReader } from './lock-reader.js';
import type { OwnEntries } from './own-entries.js';
import type { OwnEntry } from './own-entry.js';
import { WaitedLock } from './waited-lock.js';

/** The locks for which owners of this session wait, or have waited until a moment ago. */
export class WaitedLocks {
  private readonly byKey = new Map<string, WaitedLock>();

  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
    private readonly ownEntries: OwnEntries,
  ) {}

  /** Has it watched from now on. */
  at(lock: LockRange): WaitedLock {
    const { key } = lock;
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const waited = new WaitedLock(lock, this.context, this.reader, this.ownEntries, () => {
      if (this.byKey.get(key) === waited) this.byKey.delete(key);
    });
    this.byKey.set(key, waited);
    return waited;
  }

  forget(entry: OwnEntry): void {
    this.byKey.get(entry.key)?.remove(entry);
  }

  forgetSeen(): void {
    for (const waited of this.byKey.values()) waited.forgetSeen();
  }

  close(): void {
    for (const waited of [...this.byKey.values()]) waited.close();
  }
}
