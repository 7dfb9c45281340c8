import type {
  AskReply,
  AskRequest,
  BreakReply,
  Grant,
  LockStoreSession,
  NamedHold,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredLock,
} from './lock-store.js';
import type { RenewReplies } from './renew-in-parts.js';

/** A session that can do all that the port has. */
export type WholeSession = LockStoreSession &
  Required<Pick<LockStoreSession, 'reserve' | 'raise' | 'takeAll' | 'breakHold'>>;

/** A session that has others do what it is asked for: what is about one key, the one that keeps this key. */
export abstract class ForwardingSession implements WholeSession {
  abstract start(): Promise<void>;
  abstract renew(requests: readonly RenewRequest[]): Promise<RenewReplies>;
  abstract takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null>;
  abstract close(): Promise<void>;

  /** Has the session that keeps the key do something. */
  protected abstract at<T>(key: string, request: (session: WholeSession) => PromiseLike<T>): Promise<T>;

  ask(request: AskRequest): Promise<AskReply> {
    return this.at(request.key, (session) => session.ask(request));
  }

  cancel(request: OwnerRequest): Promise<void> {
    return this.at(request.key, (session) => session.cancel(request));
  }

  release(request: OwnerRequest): PromiseLike<ReleaseReply> {
    return this.at(request.key, (session) => session.release(request));
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    return this.at(request.key, (session) => session.reserve(request));
  }

  raise(request: RaiseRequest): Promise<void> {
    return this.at(request.key, (session) => session.raise(request));
  }

  inspect(key: string): Promise<StoredLock | null> {
    return this.at(key, (session) => session.inspect(key));
  }

  forceRelease(key: string): Promise<boolean> {
    return this.at(key, (session) => session.forceRelease(key));
  }

  breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    return this.at(key, (session) => session.breakHold(key, hold));
  }
}
