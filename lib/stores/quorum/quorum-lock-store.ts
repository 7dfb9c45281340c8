import { allSent, isCutOff, verified } from '../port/forwarding-session.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerId,
  type OwnerRequest,
} from '../port/lock-store.js';
import { asked, tried } from '../port/store-failure.js';
import { SessionTimers } from '../port/times.js';
import { confirmedByMajority, isOutOfReach, majorityOf, type QuorumContext } from './majority.js';
import { QuorumAcquire } from './quorum-acquire.js';
import { listByMembers, QuorumInspection, quorumBoard } from './quorum-inspection.js';
import { decideRelease } from './quorum-release.js';
import { renewByMajority, reserveByMajority } from './quorum-renewal.js';
import { baseOf } from './votes.js';

/** How long a member may take before it counts as missing, ms; less where leases are short. */
const MAX_MEMBER_TIMEOUT = 250;

/** Locks on several independent stores: a lock is held while a majority of them grants it. */
export class QuorumLockStore implements LockStore {
  readonly name: string;

  constructor(private readonly members: readonly LockStore[]) {
    const names = members.map(({ name }) => name).join(', ');
    this.name = `a quorum of ${String(members.length)} server${members.length === 1 ? '' : 's'} (${names})`;
  }

  get place(): string | undefined {
    return this.members[0]?.place;
  }

  open(client: LockStoreClient): LockStoreSession {
    return openQuorum(this.members, client);
  }
}

/**
 * One client's sessions with all members, used only through the port.
 *
 * @param acquires the acquisitions of the client, by which the explorer tells states apart
 */
export function openQuorum(
  members: readonly LockStore[],
  client: LockStoreClient,
  acquires = new Map<OwnerId, QuorumAcquire>(),
): LockStoreSession {
  const { length } = members;
  /** Indexes of the members that have not been connected yet. */
  const missing = new Set(members.keys());
  const sessions = members.map((member, index) => member.open(memberClient(member.name, index)));
  const ofSession = new SessionTimers(client, true);
  const { timers, retry } = ofSession;
  const memberTimeout = Math.min(MAX_MEMBER_TIMEOUT, client.watchdogTimeout / 12);
  const context: QuorumContext = { sessions, client, timers, retry, memberTimeout };
  const inspection = new QuorumInspection(context);
  const boards = sessions.flatMap(({ board }) => board ?? []);

  const find = ({ key, owner }: Pick<OwnerRequest, 'key' | 'owner'>): QuorumAcquire | undefined => {
    const acquire = acquires.get(owner);
    return acquire?.key === key ? acquire : undefined;
  };
  const forget = (acquire: QuorumAcquire): void => {
    if (acquires.get(acquire.owner) === acquire) acquires.delete(acquire.owner);
  };
  const atEach = <T>(request: (session: LockStoreSession) => PromiseLike<T>): Promise<T>[] =>
    sessions.map((session) => asked(() => request(session)));
  const eachHas = (ability: 'reserve' | 'raiseTokens' | 'listKeys'): boolean =>
    sessions.every((session) => session[ability] !== undefined);

  /** The client as one member sees it: translates names at that member to owners. */
  function memberClient(memberName: string, index: number): LockStoreClient {
    const acquireOf = (name: OwnerId): QuorumAcquire | undefined => acquires.get(baseOf(name));
    return {
      ...client,
      granted: (name, grant) => acquireOf(name)?.onPush(index, name, grant),
      heldByOthers: (name, holderLeaseLeft) => acquireOf(name)?.onHeldByOthers(index, name, holderLeaseLeft),
      isWanted: (name) => {
        const acquire = acquireOf(name);
        if (acquire === undefined || acquire.state === 'ended') return false;
        return acquire.members[index]?.owner === name && client.isWanted(acquire.owner);
      },
      broken: (name) => acquireOf(name)?.onBroken(index, name),
      // Another member may have reconnected before: only now may enough of them still have a hold.
      reconnected: (concerns) => {
        missing.delete(index);
        client.reconnected(concerns);
      },
      // A single member's fallback is not that of the quorum.
      locksLocally: () => undefined,
      warn: (message) => client.warn(`${memberName}: ${message}`),
    };
  }

  return {
    get description() {
      return missing.size === 0 ? undefined : `${missing.size} of them missing`;
    },
    board: boards.length === length ? quorumBoard(boards) : undefined,
    start: async () => {
      const failures: LockStoreError[] = [];
      const reasons: string[] = [];
      const starts = sessions.map(async (session, index) => {
        const failure = await tried(() => session.start());
        if (failure instanceof LockStoreError) {
          failures.push(failure);
          reasons.push(`${members[index]?.name ?? ''} (${failure.message})`);
          throw failure;
        }
        missing.delete(index);
      });
      const all = Promise.allSettled(starts);
      try {
        await confirmedByMajority(starts);
      } catch {
        throw new LockStoreError(
          `${length - missing.size} of ${length} servers are connected, ` +
            `and ${majorityOf(length)} are needed; missing are ${reasons.join(', ')}`,
          {
            inDoubt: false,
            retryable: failures.some(({ retryable }) => retryable),
            unreachable: isOutOfReach(length, failures),
            remedy: failures[0]?.remedy,
          },
        );
      }
      // The other members usually follow at once.
      await timers.within(MAX_MEMBER_TIMEOUT, all);
    },
    acquire: (request) => {
      const known = find(request);
      // It was withdrawn or rejected, and is used up.
      if (known?.state === 'ended') return Promise.resolve({ outcome: 'cancelled' });
      const acquire = known ?? new QuorumAcquire(context, request, forget);
      acquires.set(request.owner, acquire);
      return acquire.acquire(request);
    },
    release: (request) => {
      const acquire = find(request);
      if (acquire !== undefined) return acquire.release(request);
      // Any member may know the owner.
      return decideRelease(
        atEach((session) => session.release(request)),
        majorityOf(length),
        length,
      );
    },
    whenSent: (key) => allSent(sessions.map((session) => session.whenSent?.(key))),
    renew: (requests) => renewByMajority(context, find, requests),
    ...(eachHas('reserve') && {
      reserve: (request) => reserveByMajority(context, find(request), request),
    }),
    // Any later hold has the vote, and the token, of one of them.
    ...(eachHas('raiseTokens') && {
      raiseTokens: (floor, keys) =>
        confirmedByMajority(atEach(async (session) => session.raiseTokens?.(floor, keys))),
    }),
    inspect: (key) => inspection.inspect(key),
    breakHold: (key, hold) => inspection.breakHold(key, hold),
    ...(eachHas('listKeys') && { listKeys: (request) => listByMembers(sessions, request) }),
    // A majority of the members has to be fit for locks.
    verify: () => confirmedByMajority(atEach(verified)),
    connections: () => sessions.flatMap((session) => session.connections?.() ?? []),
    get isCutOff() {
      return sessions.filter((session) => !isCutOff(session)).length < majorityOf(length);
    },
    close: async () => {
      // Recent releases are still in flight to members that were not waited for.
      await timers.within(memberTimeout, retry.idle());
      ofSession.close();
      acquires.clear();
      await Promise.all(atEach((session) => session.close()));
    },
  };
}
