import { groupedBy } from '../../common/grouped-by.js';
import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  LockBoard,
  LockStoreError,
  LockStoreSession,
  NamedHold,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredHold,
  StoredLock,
} from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** A key that no caller acquires: inspecting it shows whether the store replies. */
export const PROBE_KEY = 'nestjs-distributed-lock:probe';

/** A reply for each request, in order. */
export type RenewReplies = readonly (RenewReply | LockStoreError)[];

/** A session that can reserve tokens. */
export type WholeSession = LockStoreSession & Required<Pick<LockStoreSession, 'reserve'>>;

/** A session that forwards requests about a key to the session responsible for the key. */
export abstract class ForwardingSession implements WholeSession {
  abstract start(): Promise<void>;
  abstract renew(requests: readonly RenewRequest[]): Promise<RenewReplies>;
  abstract close(): Promise<void>;

  /** Sends a request to the session responsible for the key. */
  protected abstract at<T>(key: string, request: (session: WholeSession) => PromiseLike<T>): Promise<T>;

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.at(request.key, (session) => session.acquire(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    return this.at(request.key, (session) => session.release(request));
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    return this.at(request.key, (session) => session.reserve(request));
  }

  raise(request: RaiseRequest): Promise<void> {
    return this.at(request.key, (session) => session.raise?.(request) ?? Promise.resolve());
  }

  async raiseTokens(floor: number, keys: readonly string[]): Promise<void> {
    const each = keys.map((key) => this.at(key, async (session) => session.raiseTokens?.(floor, [key])));
    await Promise.all(each);
  }

  inspect(key: string): Promise<StoredLock | null> {
    return this.at(key, (session) => session.inspect(key));
  }

  breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    return this.at(key, (session) => session.breakHold(key, hold));
  }
}

/** Whether no request of the session can succeed, as far as its connections show. */
export function isCutOff(session: LockStoreSession): boolean {
  const connections = session.connections?.() ?? [];
  return session.isCutOff ?? (connections.length > 0 && connections.every(({ isOpen }) => !isOpen));
}

/** A board that forwards each request to the board that `at` chooses. */
export function forwardedBoard(at: <T>(request: (board: LockBoard) => Promise<T>) => Promise<T>): LockBoard {
  return {
    watch: (ttl) => at((board) => board.watch(ttl)),
    isWatched: () => at((board) => board.isWatched()),
    publish: (name, text, ttl) => at((board) => board.publish(name, text, ttl)),
    read: () => at((board) => board.read()),
  };
}

/** Renews holds that are kept in several parts of a store. A failure in one part does not affect the others. */
export async function renewInParts<Part>(
  requests: readonly RenewRequest[],
  partOf: (request: RenewRequest) => Part,
  renew: (part: Part, requests: readonly RenewRequest[]) => Promise<RenewReplies>,
): Promise<RenewReplies> {
  const replies = new Map<RenewRequest, RenewReply | LockStoreError | undefined>();
  await Promise.all(
    [...groupedBy(requests, partOf)].map(async ([part, some]) => {
      try {
        const received = await renew(part, some);
        some.forEach((request, index) => replies.set(request, received[index]));
      } catch (error) {
        for (const request of some) replies.set(request, storeFailure(error));
      }
    }),
  );
  return requests.map((request) => replies.get(request) ?? storeFailure('it got no reply'));
}

/** Resolves when all of these have (undefined counts as resolved); undefined if all have. */
export function allSent(pending: Iterable<Promise<unknown> | undefined>): Promise<unknown> | undefined {
  const open = [...pending].filter((sent) => sent !== undefined);
  return open.length === 0 ? undefined : Promise.all(open);
}

/** Whether this is the named hold. */
export function isNamed(hold: Pick<StoredHold, 'owner' | 'token'>, { owner, token }: NamedHold): boolean {
  return (owner === undefined || owner === hold.owner) && (token === undefined || token === hold.token);
}

/** Rejects unless the session can be used for locks, as far as that can be checked without writing. */
export async function verified(session: LockStoreSession): Promise<void> {
  await (session.verify?.() ?? session.inspect(PROBE_KEY));
}
