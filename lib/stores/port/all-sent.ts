import type { LockStoreSession } from './lock-store.js';

/** Resolves when all of these sessions have sent what they were asked for; undefined when they have. */
export function allSent(sessions: Iterable<LockStoreSession>): Promise<unknown> | undefined {
  let open: Promise<unknown>[] | undefined;
  for (const session of sessions) {
    const sent = session.whenSent?.();
    if (sent !== undefined) (open ??= []).push(sent);
  }
  return open === undefined ? undefined : Promise.all(open);
}
