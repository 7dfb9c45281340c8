import { isKey } from '../../model/lock-key.js';
import { checkCursor } from '../port/store-failure.js';
import type {
  AcquireReply,
  AcquireRequest,
  LockStoreClient,
  LockStoreSession,
  OwnerId,
  RenewRequest,
} from '../port/lock-store.js';
import { isNamed } from '../port/forwarding-session.js';
import { Glob } from '../../common/glob.js';
import { firstRoom } from '../port/limits.js';
import { callAfterwards, type MemoryHold, type MemoryLocks } from './memory-locks.js';

export type MemorySession = LockStoreSession & Required<Pick<LockStoreSession, 'reserve' | 'listKeys'>>;

/** One client of the locks in memory. Everything happens synchronously; the port requires the promises. */
export function openMemory(locks: MemoryLocks, client: LockStoreClient): MemorySession {
  function holdOf(key: string, owner: OwnerId): MemoryHold | undefined {
    locks.sweep(client.now());
    return locks.holdersOf(key).get(owner);
  }

  /** Renews a hold, or returns why it can't. */
  function renewed({ key, owner, lease, exactly = false }: RenewRequest): 'gone' | 'taken' | undefined {
    const hold = holdOf(key, owner);
    // Other holders of permits may exist beside this owner.
    if (hold === undefined) return locks.limitOf(key) === 1 ? 'taken' : 'gone';
    if (lease > 0) prolong(hold, lease, exactly);
    return undefined;
  }

  /** A claim of a pushed grant sets the lease exactly; any other renewal never shortens it, unless `exactly`. */
  function prolong(hold: MemoryHold, lease: number, exactly: boolean): void {
    const expiresAt = client.now() + lease;
    if (exactly || hold.unclaimed || expiresAt > hold.expiresAt) locks.prolong(hold, expiresAt);
    hold.unclaimed = false;
  }

  /** ms until there may be room. */
  function leaseLeft(request: AcquireRequest): number {
    const holders = [...locks.holdersOf(request.key).values()];
    const leases = holders.map(({ expiresAt, permits }) => ({ end: expiresAt, permits }));
    return Math.max(0, (firstRoom(request, leases) ?? 0) - client.now());
  }

  function granted({ key, token, since }: MemoryHold, tokens: number): Promise<AcquireReply> {
    const othersWait = locks.othersWait(key, client);
    return Promise.resolve({ outcome: 'granted', token, since, tokens, othersWait });
  }

  return {
    board: locks.boardAt(() => client.now()),
    start: () => Promise.resolve(),
    acquire: (request) => {
      const { key, owner, lease, wait, limit } = request;
      const hold = holdOf(key, owner);
      if (hold !== undefined) {
        prolong(hold, lease, false);
        // Tokens reserved with the grant are not reported again: they may be in use.
        return granted(hold, 1);
      }
      const conflict = locks.conflictWith(key, limit, client.now());
      if (conflict !== undefined) {
        locks.leaveQueue(key, owner);
        locks.handOver(key);
        return Promise.resolve({ outcome: 'conflict', limit: conflict });
      }
      if (wait && (locks.holdersOf(key).size > 0 || locks.hasWaiters(key))) {
        locks.enqueue(key, { ...request, client });
      }
      if (locks.handOver(key, owner) && locks.hasRoom(key, request)) {
        locks.leaveQueue(key, owner);
        const hold = locks.grant(key, { ...request, client }, lease, false);
        locks.handOver(key);
        return granted(hold, request.tokens);
      }
      return Promise.resolve({ outcome: wait ? 'queued' : 'busy', holderLeaseLeft: leaseLeft(request) });
    },
    release: ({ key, owner }) => {
      locks.leaveQueue(key, owner);
      const hold = holdOf(key, owner);
      if (hold !== undefined) locks.drop(hold);
      locks.handOver(key);
      return Promise.resolve(hold === undefined ? 'not-held' : 'released');
    },
    renew: (requests) => Promise.resolve(requests.map((request) => renewed(request) ?? 'renewed')),
    reserve: (request) => {
      const outcome = renewed(request);
      if (outcome !== undefined) return Promise.resolve({ outcome });
      const othersWait = locks.othersWait(request.key, client);
      return Promise.resolve({
        outcome: 'reserved',
        token: locks.tokens.reserve(request.tokens),
        othersWait,
      });
    },
    raise: ({ key, owner, granted: known, token, since, floor }) => {
      locks.tokens.raise(floor);
      const hold = holdOf(key, owner);
      if (hold?.token === known) Object.assign(hold, { token, since });
      return Promise.resolve();
    },
    raiseTokens: (floor) => {
      locks.tokens.raise(floor);
      return Promise.resolve();
    },
    inspect: (key) => {
      const now = client.now();
      locks.sweep(now);
      const limit = locks.limitOf(key);
      if (limit === undefined) return Promise.resolve(null);
      const holders = [...locks.holdersOf(key).values()].map((hold) => {
        const { owner, token, since, expiresAt, permits, label } = hold;
        return { owner, token, since, leaseLeft: expiresAt - now, permits, label };
      });
      const waiters = [...locks.waitersOf(key)]
        .filter(({ aliveUntil }) => aliveUntil >= now)
        .map((waiter) => {
          const { owner, callers, permits, label } = waiter;
          return { owner, callers, limit: waiter.limit, permits, label };
        });
      return Promise.resolve({ limit, holders, waiters });
    },
    // Sorted by key, so that the last key is the cursor. Rejects a cursor of another store.
    listKeys: async ({ match, cursor = '', count }) => {
      checkCursor(cursor === '' || isKey(cursor));
      locks.sweep(client.now());
      const all = locks.keys.filter((key) => key > cursor).sort();
      const some = all.slice(0, count);
      const glob = new Glob(match);
      const keys = some.filter((key) => glob.matches(key));
      return await Promise.resolve({ keys, cursor: some.length < all.length ? some.at(-1) : undefined });
    },
    breakHold: (key, named = {}) => {
      locks.sweep(client.now());
      const holds = [...locks.holdersOf(key).values()];
      const broken = holds.filter((hold) => isNamed(hold, named));
      for (const hold of broken) {
        locks.drop(hold);
        callAfterwards(() => hold.client.broken(hold.owner));
      }
      // Also after a hold that has expired.
      locks.handOver(key);
      if (broken.length > 0) return Promise.resolve('broken');
      return Promise.resolve(holds.length === 0 ? 'free' : 'held-by-others');
    },
    close: () => Promise.resolve(),
  };
}
