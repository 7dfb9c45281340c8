import { isNamed } from '../port/forwarding-session.js';
import {
  InvalidCursorError,
  LockStoreError,
  type BreakReply,
  type ListedKeys,
  type ListKeysRequest,
  type LockBoard,
  type LockStoreSession,
  type NamedHold,
  type OwnerId,
  type StoredHold,
  type StoredLock,
} from '../port/lock-store.js';
import { asked, checkCursor, messageOf, tried } from '../port/store-failure.js';
import { decided, majorityOf, undecided, votesNeeded, type QuorumContext } from './majority.js';
import { baseOf } from './votes.js';

/** How long to wait for members whose replies can change the result, ms. */
const REPLY_TIME = 250;
/** How long to wait for the other members, for a complete result, ms. */
const EXTRA_TIME = 10;
/** How often to inspect again, `EXTRA_TIME` apart, while the token of a hold is being announced to the members. */
const MAX_SECOND_LOOKS = 3;
/** How often the holds that were seen may be gone when they are to be broken. */
const MAX_BREAK_ROUNDS = 10;

/** A member's view of a lock. */
interface MemberView {
  readonly session: LockStoreSession;
  readonly lock: StoredLock | null;
}

/** Inspects and breaks locks, by combining the members' views. */
export class QuorumInspection {
  constructor(private readonly context: QuorumContext) {}

  async inspect(key: string): Promise<StoredLock | null> {
    const { lock } = await this.look(key);
    return lock;
  }

  /** A later hold is never broken: each hold has its own name at every member. */
  async breakHold(key: string, hold: NamedHold | undefined): Promise<BreakReply> {
    if (hold === undefined) return (await this.breakAll(key)) ? 'broken' : 'free';
    for (let round = 0; round < MAX_BREAK_ROUNDS; round++) {
      const { lock, views } = await this.look(key);
      if (lock === null) return 'free';
      const named = lock.holders.find((holder) => isNamed(holder, hold));
      if (named === undefined) return 'held-by-others';
      if (await this.breakAt(views, key, named.owner, lock.limit)) return 'broken';
    }
    throw changedTooOften();
  }

  /**
   * Breaks the holds that were seen, also those with too few votes. A member may carry out a request late: one that breaks
   * whatever it finds then could take a vote of the next holder.
   */
  private async breakAll(key: string): Promise<boolean> {
    const { length } = this.context.sessions;
    for (let round = 0; round < MAX_BREAK_ROUNDS; round++) {
      const views = await this.viewsOf(key);
      const parts = partsOf(views, length);
      if (parts.length === 0) return false;
      const broken = await Promise.all(
        parts.map(({ owner, limit }) => this.breakAt(views, key, owner, limit)),
      );
      // Unreachable members may have held it too. If all are gone, others may hold it by now.
      const missing = length - views.length;
      if (broken.includes(true))
        return parts.some(
          ({ holds, needed }, index) => broken[index] === true && holds.length + missing >= needed,
        );
    }
    throw changedTooOften();
  }

  private async look(
    key: string,
  ): Promise<{ readonly lock: StoredLock | null; readonly views: readonly MemberView[] }> {
    const { sessions, timers } = this.context;
    for (let look = 1; ; look++) {
      const views = await this.viewsOf(key);
      const parts = partsOf(views, sessions.length);
      if (parts.every(isTokenKnown) || look > MAX_SECOND_LOOKS)
        return { lock: lockOf(views, parts, sessions.length), views };
      await timers.within(EXTRA_TIME, new Promise<never>(() => undefined));
    }
  }

  private viewsOf(key: string): Promise<readonly MemberView[]> {
    const { length } = this.context.sessions;
    return this.repliesOf(
      async (session) => ({ session, lock: await session.inspect(key) }),
      (some) => isOpen(partsOf(some, length), length - some.length),
    );
  }

  /**
   * Breaks a hold at each member that was seen to have it. Unreachable members may have it too: it has ended when they
   * are too few for it. Returns false if no member still had it.
   */
  private async breakAt(
    views: readonly MemberView[],
    key: string,
    owner: string,
    limit: number,
  ): Promise<boolean> {
    const { sessions, timers, memberTimeout } = this.context;
    const replies: BreakReply[] = [];
    const failures: LockStoreError[] = [];
    const requests = views.flatMap(({ session, lock }) => {
      const own = lock?.holders.find((holder) => baseOf(holder.owner) === owner);
      if (own === undefined) return [];
      return tried(() => session.breakHold(key, { owner: own.owner })).then((reply) => {
        if (reply instanceof LockStoreError) failures.push(reply);
        else replies.push(reply);
      });
    });
    await timers.within(memberTimeout, Promise.all(requests));
    const { length } = sessions;
    const silent = length - views.length + requests.length - replies.length - failures.length;
    if (silent + failures.length >= votesNeeded(length, limit)) {
      throw undecided(length, failures, true, silent);
    }
    return replies.includes('broken');
  }

  /**
   * The replies of the members, without those that take too long.
   *
   * @param mayChange whether the missing replies can change the result
   */
  private async repliesOf<T>(
    request: (session: LockStoreSession) => Promise<T>,
    mayChange: (replies: readonly T[]) => boolean,
  ): Promise<readonly T[]> {
    const { sessions, timers } = this.context;
    const majority = majorityOf(sessions.length);
    const replies: T[] = [];
    const failures: LockStoreError[] = [];
    const requests = sessions.map(async (session) => {
      const reply = await tried(() => request(session));
      if (reply instanceof LockStoreError) failures.push(reply);
      else replies.push(reply);
    });
    await decided(requests, ({ open }) => (open === 0 || replies.length >= majority ? true : undefined));
    await timers.within(mayChange(replies) ? REPLY_TIME : EXTRA_TIME, Promise.all(requests));
    if (replies.length < majority) throw undecided(sessions.length, failures, true);
    return [...replies];
  }
}

function changedTooOften(): LockStoreError {
  const rounds = String(MAX_BREAK_ROUNDS);
  return new LockStoreError(`the holders had changed at each of ${rounds} attempts to break their holds`, {
    inDoubt: false,
    retryable: true,
  });
}

/** The members' views of one holder. */
interface Part {
  readonly owner: OwnerId;
  readonly limit: number;
  /** How many members have to name it. */
  readonly needed: number;
  readonly holds: readonly StoredHold[];
}

function partsOf(views: readonly MemberView[], members: number): readonly Part[] {
  const byOwner = new Map<OwnerId, { limit: number; holds: StoredHold[] }>();
  for (const { limit, holders } of views.flatMap(({ lock }) => lock ?? [])) {
    for (const hold of holders) {
      const owner = baseOf(hold.owner);
      const part = byOwner.get(owner) ?? { limit, holds: [] };
      part.holds.push(hold);
      byOwner.set(owner, part);
    }
  }
  return [...byOwner].map(([owner, { limit, holds }]) => {
    return { owner, limit, holds, needed: votesNeeded(members, limit) };
  });
}

/** Whether this many missing replies can't change whether `votes` are enough. */
function isSettled(votes: number, needed: number, missing: number): boolean {
  return votes >= needed || votes + missing < needed;
}

/** Whether this many missing replies can change who holds the lock. */
function isOpen(parts: readonly Part[], missing: number): boolean {
  return parts.some(({ holds, needed }) => !isSettled(holds.length, needed, missing));
}

/** The lock that results from all views; null if no holder is named by enough members. */
function lockOf(views: readonly MemberView[], parts: readonly Part[], members: number): StoredLock | null {
  const [first, ...others] = parts.filter(({ holds, needed }) => holds.length >= needed);
  if (first === undefined) {
    if (!isOpen(parts, members - views.length)) return null;
    const most = Math.max(...parts.map(({ holds }) => holds.length));
    throw new LockStoreError(
      `${String(most)} of the ${String(views.length)} servers that replied have one holder: ` +
        `without the other ${String(members - views.length)} it is not known whether it has enough of them`,
      { inDoubt: false, retryable: true },
    );
  }
  // Tokens grow.
  const holders = [first, ...others].map(holdOf).sort((one, other) => (one.token ?? 0) - (other.token ?? 0));
  const isHolder = new Set<string>(holders.map(({ owner }) => owner));
  const [waiters = []] = views
    .map(({ lock }) => lock?.waiters ?? [])
    .sort((one, other) => other.length - one.length);
  return {
    limit: first.limit,
    holders,
    waiters: waiters
      .map((waiter) => ({ ...waiter, owner: baseOf(waiter.owner) }))
      // A holder is about to leave the queues of members whose grant it did not need.
      .filter(({ owner }) => !isHolder.has(owner)),
  };
}

function holdOf({ owner, needed, holds }: Part): StoredHold {
  const top = lastOf(holds);
  // It lasts until fewer members than needed have it.
  const left = holds.map(({ leaseLeft = Infinity }) => leaseLeft).sort((one, other) => other - one)[
    needed - 1
  ];
  return { ...top, owner, leaseLeft: left === Infinity ? undefined : left };
}

/** Whether enough members know the token, if so many have the hold. It is announced right after the grant. */
function isTokenKnown({ needed, holds }: Part): boolean {
  const { token } = lastOf(holds);
  return holds.length < needed || holds.filter((hold) => hold.token === token).length >= needed;
}

/** The view with the largest token. */
function lastOf(holds: readonly StoredHold[]): StoredHold {
  return holds.reduce((one, other) => ((other.token ?? 0) > (one.token ?? 0) ? other : one));
}

/** A cursor: the member being listed, where to continue there, and how many members have failed. */
interface Position {
  readonly member: number;
  readonly failed: number;
  readonly cursor: string | undefined;
}

/**
 * Lists one member after the other: a lock held by a majority is at some of them. Unreachable members are skipped while
 * they are too few to hide a lock.
 */
export async function listByMembers(
  sessions: readonly LockStoreSession[],
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
    // The cursor says that the others have failed, and it may be made up: the store need not be unreachable.
    if (failed + 1 >= majorityOf(sessions.length)) {
      const message = `too many servers of the quorum can't be listed: ${messageOf(error)}`;
      throw new LockStoreError(message, { inDoubt: false, retryable: false, cause: error });
    }
    return { keys: [], cursor: next(failed + 1) };
  }
}

function positionIn(cursor: string | undefined): Position {
  const match = /^(\d+)\.(\d+)@([^]*)$/.exec(cursor ?? '0.0@');
  checkCursor(match !== null);
  const [, member = '0', failed = '0', rest = ''] = match ?? [];
  return { member: Number(member), failed: Number(failed), cursor: rest === '' ? undefined : rest };
}

/**
 * The boards of all members as one: a single reachable member is enough. A member that was unreachable while a text was
 * replaced returns the older text.
 */
export function quorumBoard(boards: readonly LockBoard[]): LockBoard {
  const each = async <T>(request: (board: LockBoard) => Promise<T>): Promise<readonly T[]> => {
    const replies = await Promise.allSettled(boards.map((board) => asked(() => request(board))));
    const given = replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []));
    const failed = replies.find((reply) => reply.status === 'rejected');
    if (given.length === 0 && failed !== undefined) throw failed.reason;
    return given;
  };
  return {
    watch: async (ttl) => {
      await each((board) => board.watch(ttl));
    },
    isWatched: async () => (await each((board) => board.isWatched())).includes(true),
    publish: async (name, text, ttl) => {
      await each((board) => board.publish(name, text, ttl));
    },
    read: async () => [...new Set((await each((board) => board.read())).flat())],
  };
}
