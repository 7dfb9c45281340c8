import { setTimeout as elapse } from 'node:timers/promises';
import type { LockService } from '../../api/lock.service.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { StoreConnection } from '../../model/lock-status.js';
import { ok, problem, warning, type Finding } from '../../stores/redis/doctor/finding.js';

/** Whoever has heard nothing asks again after a second: a grant that took longer than this was not brought by a message. */
const BY_MESSAGE = 600;
const WAIT = 5_000;
const SLOWLY = 'Waiters that are not woken ask again once a second, so that hand-overs take up to a second.';
/** What to do about it, by what the name of the store begins with. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /^PostgreSQL/,
    'LISTEN needs a connection of the server itself: where a pooler lies between, give its address with postgresStore({ listen }).',
  ],
  [
    /Redis/i,
    'Allow the user its channel and (S)SUBSCRIBE and (S)PUBLISH, and connect without a proxy that does not pass messages on.',
  ],
];

/** Whether somebody who waits for a lock hears that it is given back. */
export async function wakeUp(holder: LockService, waiter: LockService, held: LockHandle): Promise<Finding> {
  const waiting = waiter.acquire(held.key, { waitTime: WAIT, label: 'doctor' });
  // Its failure is told below.
  waiting.catch(() => undefined);
  try {
    await inQueue(holder, held.key);
    const releasedAt = performance.now();
    await held.release();
    const next = await waiting;
    const took = performance.now() - releasedAt;
    await next.release();
    const after = `${took.toFixed(1)} ms after it was given back`;
    if (took < BY_MESSAGE) return ok('pub/sub', `whoever waited had the lock ${after}`);
    const { name, connections = [] } = waiter.status().store;
    const told = `whoever waited had the lock ${after}, and not by a message. ${SLOWLY}`;
    if (isDeafByChoice(name, connections)) {
      return warning('pub/sub', `${told} So it was chosen with postgresStore({ listen: false }).`);
    }
    const [, remedy = 'See what keeps messages of the store from this machine.'] =
      REMEDIES.find(([of]) => of.test(name)) ?? [];
    return problem('pub/sub', `${told} ${remedy}`);
  } catch (error) {
    await held.release();
    return problem('pub/sub', `whoever waited did not get the lock: ${(error as Error).message}`);
  }
}

/** Whether nobody listens for messages of a store that has a connection of its own for that. */
function isDeafByChoice(name: string, connections: readonly StoreConnection[]): boolean {
  return name.startsWith('PostgreSQL') && !connections.some((each) => each.name.endsWith(' messages'));
}

/** Given back before that, it would be free, and nobody would have to be woken. */
async function inQueue(locks: LockService, key: string): Promise<void> {
  const end = performance.now() + WAIT / 2;
  while (((await locks.inspect(key))?.waiting ?? 0) === 0 && performance.now() < end) await elapse(10);
}
