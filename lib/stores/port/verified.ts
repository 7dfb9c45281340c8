import type { LockStoreSession } from './lock-store.js';

/** Nobody takes it but for a trial: it is inspected to find out whether the store answers. */
export const PROBE_KEY = 'nestjs-distributed-lock:probe';

/** Rejects unless the session can be used for locks, as far as that can be found out without writing. */
export async function verified(session: LockStoreSession): Promise<void> {
  await (session.verify?.() ?? session.inspect(PROBE_KEY));
}
