import { ConflictException } from '@nestjs/common';
import type { LockService } from '../api/lock.service.js';
import type { LockBreakOutcome } from '../model/inspect.options.js';
import type { LockHolder, LockInfo } from '../model/lock-info.js';
import type { BreakRequest, ProcessSnapshot } from './wire.js';

/** Breaks the hold that somebody was shown, and nothing else. */
export class LockBreaker {
  /** @param snapshotsOf what the processes tell of a module instance now */
  constructor(
    private readonly snapshotsOf: (instance: string | null) => Promise<readonly ProcessSnapshot[]>,
  ) {}

  /** @throws ConflictException if the hold is over */
  async break(locks: LockService, { key, instance, token }: BreakRequest, by: string): Promise<void> {
    const [snapshots, lock] = await Promise.all([this.snapshotsOf(instance), locks.inspect(key)]);
    const outcome =
      lock === null ? 'free' : await breakShown(locks, lock, holderWith(token, lock, snapshots), by);
    switch (outcome) {
      case 'broken':
        return;
      case 'free':
        throw new ConflictException('The lock is free already.');
      case 'held-by-others':
        throw new ConflictException(
          'Somebody else holds the lock by now. Look at it again before you break it.',
        );
    }
  }
}

/** What was looked at may be over by now: the store compares it once more, in the step that breaks it. */
async function breakShown(
  locks: LockService,
  { key }: LockInfo,
  holder: LockHolder | undefined,
  by: string,
): Promise<LockBreakOutcome> {
  if (holder === undefined) return 'held-by-others';
  const { owner, token } = holder;
  return await locks.breakHold(key, { by, owner, token });
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
