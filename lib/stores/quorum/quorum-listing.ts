import {
  InvalidCursorError,
  type ListedKeys,
  type ListKeysRequest,
  type LockStoreSession,
} from '../port/lock-store.js';
import { checkCursor, asked } from '../port/store-failure.js';

/** Where a list has got to: which member is asked, where to go on there, and how many have failed. */
interface Position {
  readonly member: number;
  readonly failed: number;
  readonly cursor: string | undefined;
}

/**
 * One member after the other: what a majority holds, some member has. Those who can't be asked are left out, as long as they
 * are fewer than it takes to hide a lock.
 */
export async function listByMembers(
  sessions: readonly LockStoreSession[],
  majority: number,
  { cursor: position, ...request }: ListKeysRequest,
): Promise<ListedKeys> {
  const { member, failed, cursor } = positionIn(position);
  checkCursor(member < sessions.length && failed <= member);
  const session = sessions[member];
  const listKeys = session?.listKeys?.bind(session);
  if (listKeys === undefined) return { keys: [], cursor: undefined };
  const next = (failures: number): string | undefined =>
    member + 1 < sessions.length ? `${String(member + 1)}.${String(failures)}@` : undefined;
  try {
    const listed = await asked(() => listKeys({ ...request, cursor }));
    const goOn = `${String(member)}.${String(failed)}@${listed.cursor ?? ''}`;
    return { keys: listed.keys, cursor: listed.cursor === undefined ? next(failed) : goOn };
  } catch (error) {
    if (error instanceof InvalidCursorError) throw error;
    if (failed + 1 >= majority) throw error;
    return { keys: [], cursor: next(failed + 1) };
  }
}

function positionIn(cursor: string | undefined): Position {
  const match = /^(\d+)\.(\d+)@([^]*)$/.exec(cursor ?? '0.0@');
  checkCursor(match !== null);
  const [, member = '0', failed = '0', rest = ''] = match ?? [];
  return { member: Number(member), failed: Number(failed), cursor: rest === '' ? undefined : rest };
}
