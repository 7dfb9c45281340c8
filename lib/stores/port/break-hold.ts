import type { BreakReply, LockStoreSession, NamedHold, StoredHold } from './lock-store.js';

/** Whether that is the hold which is meant. */
export function isNamed(hold: Pick<StoredHold, 'owner' | 'token'>, { owner, token }: NamedHold): boolean {
  return (owner === undefined || owner === hold.owner) && (token === undefined || token === hold.token);
}

/** Of a store that has no request for it in two steps, so that what happens in between is not seen. */
export async function breakHold(
  session: LockStoreSession,
  key: string,
  hold: NamedHold,
): Promise<BreakReply> {
  if (session.breakHold !== undefined) return await session.breakHold(key, hold);
  const lock = await session.inspect(key);
  if (lock === null) return 'free';
  if (!lock.holders.some((holder) => isNamed(holder, hold))) return 'held-by-others';
  return (await session.forceRelease(key)) ? 'broken' : 'free';
}
