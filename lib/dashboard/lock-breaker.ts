import { ConflictException } from '@nestjs/common';
import type { LockService } from '../api/lock.service.js';
import type { LockHolder, LockInfo } from '../model/lock-info.js';
import type { BreakRequest, ProcessSnapshot } from './wire.js';

/** Breaks the hold that somebody was shown, and no later one. */
export class LockBreaker {
  /** @param snapshotsOf what the processes tell of a module instance now */
  constructor(
    private readonly snapshotsOf: (instance: string | null) => Promise<readonly ProcessSnapshot[]>,
  ) {}

  /** @throws ConflictException if the hold is over */
  async break(locks: LockService, { key, instance, token }: BreakRequest, by: string): Promise<void> {
    const [snapshots, lock] = await Promise.all([this.snapshotsOf(instance), locks.inspect(key)]);
    if (lock === null) throw new ConflictException('The lock is free already.');
    const holder = holderWith(token, lock, snapshots);
    if (holder === undefined || !(await locks.forceRelease(key, { by, owner: holder.owner }))) {
      throw new ConflictException(
        'Somebody else holds the lock by now. Look at it again before you break it.',
      );
    }
  }
}

/** Who has the hold with a token, as far as that can be known. */
function holderWith(
  token: number | null,
  lock: LockInfo,
  snapshots: readonly ProcessSnapshot[],
): LockHolder | undefined {
  return lock.holders.find((holder) => {
    if (token === null || holder.token === undefined) return token === null && holder.token === undefined;
    const tokens = [holder.token, ...laterTokens(holder, lock.key, snapshots)];
    // Of an exclusive lock only the last hold can be there; of shares a process may have several.
    return lock.limit === 1 ? Math.max(...tokens) === token : tokens.includes(token);
  });
}

/** A process hands its lock on to its own callers without the store, which then knows the token of the first of them. */
function laterTokens(
  { owner, token: first = 0 }: LockHolder,
  key: string,
  snapshots: readonly ProcessSnapshot[],
): readonly number[] {
  return snapshots
    .filter(({ client }) => owner.startsWith(`${client}:`))
    .flatMap(({ held }) => held)
    .filter((hold) => hold.key === key && hold.token > first)
    .map(({ token }) => token);
}
