import type { LockInfo } from '../../model/lock-info.js';

/** What has become of a lock between two looks. */
export interface LockChange {
  readonly event: 'held' | 'passed' | 'free' | 'waiting';
  readonly key: string;
  /** As it is now; null when it is free. */
  readonly lock: LockInfo | null;
}

/** Compares what is held now with what was held before. */
export class LockChanges {
  private before = new Map<string, LockInfo>();
  private isFirst = true;

  /** @param key the only one that is looked at, which is told at first even if it is free */
  constructor(private readonly key?: string) {}

  next(locks: readonly LockInfo[]): readonly LockChange[] {
    const now = new Map(locks.map((lock) => [lock.key, lock]));
    const changes = [...now.values()].flatMap((lock) => this.changeOf(lock) ?? []);
    for (const key of this.before.keys()) if (!now.has(key)) changes.push({ event: 'free', key, lock: null });
    if (this.isFirst && this.key !== undefined && !now.has(this.key)) {
      changes.push({ event: 'free', key: this.key, lock: null });
    }
    this.before = now;
    this.isFirst = false;
    return changes;
  }

  private changeOf(lock: LockInfo): LockChange | undefined {
    const { key, waiting } = lock;
    const before = this.before.get(key);
    if (before === undefined) return { event: 'held', key, lock };
    if (holdsOf(before) !== holdsOf(lock)) return { event: 'passed', key, lock };
    return before.waiting === waiting ? undefined : { event: 'waiting', key, lock };
  }
}

function holdsOf({ holders }: LockInfo): string {
  return holders.map(({ owner, token }) => `${owner} ${String(token)}`).join('\n');
}
