import { setTimeout as elapse } from 'node:timers/promises';
import type { LockService } from '../../api/lock.service.js';
import type { LockInfo } from '../../model/lock-info.js';

/** How much the store looks at for one answer: small, since it does nothing else meanwhile. */
const COUNT = 200;
/** Between two answers, ms, so that others have their turn. */
const PAUSE = 2;

/** All locks that are held whose keys look like that, each once. */
export async function* heldLocks(locks: LockService, match: string): AsyncGenerator<LockInfo> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    if (cursor !== undefined) await elapse(PAUSE);
    const page = await locks.list({ match, cursor, count: COUNT });
    for (const lock of page.locks) {
      if (seen.has(lock.key)) continue;
      seen.add(lock.key);
      yield lock;
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
}
