import { callAfterwards } from '../memory/memory-locks.js';
import { isCutOff, PROBE_KEY, renewInParts, type RenewReplies } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type PushedGrant,
  type RenewRequest,
} from '../port/lock-store.js';
import { storeFailure } from '../port/store-failure.js';
import { SessionTimers } from '../port/times.js';
import { CircuitBreaker, CONNECT_ROUND_TRIPS, isUnreachable, RETRY_PAUSE } from './circuit-breaker.js';
import { heldLocally, LocalLocks } from './local-locks.js';

/** How far the tokens of the store are raised above the clock and local holds at first, µs: some begin until the reply. */
const TOKENS_AHEAD = 100_000;

/** The end of requests that are repeated until they succeed. */
const FOR_EVER = (): MonotonicMs => Infinity as MonotonicMs;

/** Locks of another store, or of this process only while that store is unreachable. */
export class FallbackLockStore implements LockStore {
  readonly name: string;
  readonly place: LockStore['place'];
  readonly clock: LockStore['clock'];

  constructor(private readonly store: LockStore) {
    ({ name: this.name, place: this.place, clock: this.clock } = store);
  }

  open(client: LockStoreClient): LockStoreSession {
    return openFallback(this.store, client);
  }
}

/** Tests read what the session remembers of owners. */
interface FallbackSession extends LockStoreSession {
  readonly local: LocalLocks;
  readonly asking: ReadonlyMap<OwnerId, AcquireRequest>;
}

/**
 * One client of a store that may become unreachable. Each owner is served either by the store or by this process: a
 * lock granted by the store ends in the store, and one granted locally ends locally.
 */
function openFallback(inner: LockStore, client: LockStoreClient): FallbackSession {
  const ofSession = new SessionTimers(client);
  const { retry } = ofSession;
  /** The last requests of owners that may be in the store's queue, or have a grant that has not arrived. */
  const asking = new Map<OwnerId, AcquireRequest>();
  const local = new LocalLocks(client, (owner, grant) => {
    if (breaker.isOpen) client.granted(owner, { ...grant, local: true });
    // The store has just recovered.
    else local.withdraw(owner);
  });
  const store = inner.open({
    ...client,
    granted: onStoreGrant,
    // Only messages are back: the connection for requests may be failing at this moment.
    pollNow: () => {
      if (!breaker.isOpen) client.pollNow();
    },
    reconnected: (concerns) => {
      if (breaker.onReconnect()) client.reconnected(concerns);
    },
    lastLocalToken: () => local.tokens.last,
  });
  const [reserve, listKeys] = [store.reserve?.bind(store), store.listKeys?.bind(store)];
  const [verify, connections] = [store.verify?.bind(store), store.connections?.bind(store)];
  const breaker = new CircuitBreaker(
    store,
    () => client.now(),
    retry,
    (cause) => {
      client.locksLocally(true, cause);
      pollSoon();
    },
    onRecovery,
    raiseStoreTokens,
  );

  async function askStore(request: AcquireRequest, isSecondTry = false): Promise<AcquireReply> {
    const { key, owner, wait } = request;
    const sentAt = client.now();
    const isNew = !asking.has(owner);
    // Before the request is sent: a grant can be pushed before the reply.
    asking.set(owner, request);
    let reply: AcquireReply;
    try {
      reply = await store.acquire(request);
    } catch (error) {
      if (isNew && error instanceof LockStoreError && !error.inDoubt) asking.delete(owner);
      if (!isUnreachable(error)) throw error;
      // The engine does not retry other errors.
      breaker.onFailure(error, key, sentAt, isSecondTry || !error.retryable);
      if (breaker.isOpen) return await askLocally(request);
      // For waiters, the engine retries.
      if (wait || isSecondTry) throw error;
      if (!(await breaker.hasRecovered(key))) return await askLocally(request);
      // The engine withdraws the owner, and repeats the request under another one.
      if (error.inDoubt) throw error;
      return await askStore(request, true);
    }
    breaker.onReply(sentAt);
    if (reply.outcome === 'granted') return await onStoreReply(request, reply, sentAt);
    if (reply.outcome !== 'queued') asking.delete(owner);
    return reply;
  }

  async function onStoreReply(
    request: AcquireRequest,
    grant: AcquireReply & { readonly outcome: 'granted' },
    sentAt: MonotonicMs,
  ): Promise<AcquireReply> {
    const { key, owner, lease, limit } = request;
    const leaseLeft = local.leaseLeft(key, limit);
    if (leaseLeft !== undefined) {
      // The lock was granted locally to another owner while the reply was in flight.
      if (breaker.isOpen) return await askLocally(request);
      if (request.wait) serveLocally(owner, key);
      else cancelInStore(owner, key);
      return heldLocally(request, leaseLeft);
    }
    asking.delete(owner);
    local.enterStored(request, sentAt + lease, grant);
    return grant;
  }

  function onStoreGrant(owner: OwnerId, grant: PushedGrant): void {
    const request = asking.get(owner);
    if (request === undefined) return; // withdrawn, or served here
    if (local.leaseLeft(request.key, request.limit) !== undefined) {
      serveLocally(owner, request.key);
      pollSoon();
      return;
    }
    asking.delete(owner);
    local.enterStored(request, grant.startedAt + grant.lease, grant);
    client.granted(owner, grant);
  }

  async function askLocally(request: AcquireRequest): Promise<AcquireReply> {
    const { key, owner } = request;
    serveLocally(owner, key);
    const reply = await local.acquire(request);
    if (reply.outcome !== 'granted') return reply;
    // The store has just recovered.
    return breaker.isOpen ? reply : local.cancelled(request);
  }

  /** From now on the owner is served in this process, and has no entry in the store. */
  function serveLocally(owner: OwnerId, key: string): void {
    const isKnown = local.has(owner);
    // It makes a request, so it does not use an earlier grant.
    local.leaveStored(key, owner);
    local.add(owner, key);
    if (!isKnown && asking.has(owner)) cancelInStore(owner, key);
  }

  /**
   * Before the store is used, its later tokens have to be larger than those of local holds: of this process, and of an
   * earlier one that it replaces. Those count from the clock. Rejects if repeating it can help.
   */
  async function raiseStoreTokens(): Promise<void> {
    const { tokens, keys } = local;
    let floor = -1;
    for (let ahead = TOKENS_AHEAD; floor < tokens.last || keys.size > 0; ahead *= 2) {
      floor = Math.max(tokens.last, Date.now() * 1_000) + ahead;
      const raised = [...keys];
      try {
        await store.raiseTokens?.(floor, [PROBE_KEY, ...raised]);
      } catch (error) {
        if (storeFailure(error).retryable) throw error;
      }
      // Others may have been granted meanwhile.
      for (const key of raised) keys.delete(key);
    }
  }

  function onRecovery(): void {
    // Cancels owners in the store, before any caller requests the same locks there.
    retry.retryNow();
    local.endWaits();
    client.locksLocally(false);
    client.reconnected();
  }

  async function renewInStore(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    const sentAt = client.now();
    const replies = await store.renew(requests);
    if (!replies.every(isUnreachable)) breaker.onReply(sentAt);
    local.onStoreRenewed(requests, replies, sentAt);
    return replies;
  }

  function pollSoon(): void {
    callAfterwards(() => client.pollNow());
  }

  /** Cancels the owner in the store until the store confirms it; now, or when the store is back. */
  function cancelInStore(owner: OwnerId, key: string): void {
    asking.delete(owner);
    const attempt = async (): Promise<void> => {
      if (breaker.isOpen) throw new Error('the store is unreachable');
      try {
        await store.release({ key, owner, wasGranted: false, inDoubt: true });
      } catch (error) {
        // A request that can't succeed is not repeated.
        if (storeFailure(error).retryable) throw error;
      }
    };
    void retry.complete({ attempt, until: FOR_EVER, pause: RETRY_PAUSE });
  }

  return {
    ...{ local, asking },
    get description() {
      return store.description;
    },
    board: store.board,
    get longestUnrenewed() {
      return store.longestUnrenewed;
    },
    get remainingIsBound() {
      return !breaker.isOpen && store.remainingIsBound === true;
    },
    get isCutOff() {
      return isCutOff(store);
    },
    whyTooLong: (lease) => (breaker.isOpen ? undefined : store.whyTooLong?.(lease)),
    // The same while the store is unreachable: a call must not depend on that.
    whyUnsupported: (call) => store.whyUnsupported?.(call),
    whenSent: (key) => store.whenSent?.(key),
    ...(connections && { connections }),
    start: async () => {
      const startedAt = client.now();
      try {
        await store.start();
        breaker.onReply(startedAt, CONNECT_ROUND_TRIPS);
      } catch (error) {
        if (isUnreachable(error)) breaker.open(error);
        throw error;
      }
      // A part of the store may be unreachable, which must not make all locks local.
      await raiseStoreTokens().catch(() => {
        void retry.completeLater({ attempt: raiseStoreTokens, until: FOR_EVER, pause: RETRY_PAUSE });
      });
    },
    acquire: async (request) => {
      if (breaker.isOpen) return await askLocally(request);
      const { key, owner } = request;
      // It was served locally, and may have been withdrawn from the store: the engine continues with a new owner.
      if (local.has(owner)) return local.cancelled(request);
      const leaseLeft = local.leaseLeft(key, request.limit);
      return leaseLeft === undefined ? await askStore(request) : heldLocally(request, leaseLeft);
    },
    release: (request) => {
      if (local.has(request.owner)) {
        if (!breaker.isOpen) pollSoon(); // its waiters continue in the store
        return local.release(request);
      }
      asking.delete(request.owner);
      local.leaveStored(request.key, request.owner);
      return store.release(request);
    },
    renew: (requests) =>
      renewInParts(
        requests,
        ({ owner }) => local.has(owner),
        (isLocal, some) => (isLocal ? local.renew(some) : renewInStore(some)),
      ),
    ...(reserve && {
      reserve: async (request) => {
        if (local.has(request.owner)) return await local.reserve(request);
        const sentAt = client.now();
        const reply = await reserve(request);
        breaker.onReply(sentAt);
        local.onStoreReserved(request, reply, sentAt);
        return reply;
      },
    }),
    inspect: async (key) => {
      if (breaker.isOpen) return await local.session.inspect(key);
      const stored = await breaker.watched(key, () => store.inspect(key));
      // A local hold may outlast the outage.
      if (stored !== null || local.leaseLeft(key) === undefined) return stored;
      return await local.session.inspect(key);
    },
    ...(listKeys && {
      listKeys: (request) => (breaker.isOpen ? local.session.listKeys(request) : listKeys(request)),
    }),
    ...(verify && {
      verify: async () => {
        if (!breaker.isOpen) await breaker.watched(PROBE_KEY, verify);
      },
    }),
    // Holds in the store are broken there first: if that fails, nothing has changed here either.
    breakHold: async (key, hold) => {
      const isLocal = hold !== undefined && local.holdsOf(key, true, hold).length > 0;
      const isUnknown = breaker.isOpen && local.holdsOf(key, false, hold).length === 0;
      if (isLocal || isUnknown) return local.breakHold(key, hold);
      const reply = await store.breakHold(key, hold);
      const here = hold === undefined ? local.breakHold(key) : 'free';
      if (reply === 'broken' || here === 'broken') return 'broken';
      return local.leaseLeft(key) === undefined ? reply : 'held-by-others';
    },
    close: async () => {
      breaker.stop();
      // Owners to be cancelled in the store are cancelled once more.
      retry.stop();
      if (!breaker.isOpen) await retry.idle();
      ofSession.close();
      await store.close();
    },
  };
}
