import {
  LockStoreError,
  MemoryLockStore,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerId,
  type OwnerRequest,
} from '../../lib/index.js';

type Kind = 'acquire' | 'cancel' | 'release' | 'renew' | 'reserve' | 'inspect' | 'forceRelease';
/** What becomes of a request: it is not sent, its answer is lost, or it fails with that error. */
export type Fault = 'not sent' | 'no answer' | Error | undefined;

/** A store in memory that can be put out of reach. */
export class AwayStore implements LockStore {
  readonly name = 'a store that goes away';
  /** How often each request was made. */
  readonly asked: Partial<Record<Kind, number>> = {};
  /** Owners that were taken back, or gave their lock back, while a request of theirs might have been under way. */
  readonly doubts: OwnerId[] = [];
  /** Decides about each request. */
  fault: (kind: Kind) => Fault = () => undefined;
  /** Keeps answers back until it resolves. */
  gate: Promise<void> | undefined;
  /** What the store itself says, past all faults. */
  readonly inside = new MemoryLockStore();
  private readonly clients: LockStoreClient[] = [];

  open(client: LockStoreClient): LockStoreSession {
    this.clients.push(client);
    const session = this.inside.open({
      ...client,
      granted: (owner, grant) => {
        if (this.fault('acquire') === undefined) client.granted(owner, grant);
      },
    });
    const { reserve } = session;
    if (reserve === undefined) throw new Error('the memory store reserves');
    return {
      start: () => this.answer('inspect', () => session.start()),
      acquire: (request) => this.answer('acquire', () => session.acquire(request)),
      cancel: (request) => this.answer('cancel', () => session.cancel(this.noted(request))),
      release: (request) => this.answer('release', () => session.release(this.noted(request))),
      renew: (requests) => this.answer('renew', () => session.renew(requests)),
      reserve: (request) => this.answer('reserve', () => reserve.call(session, request)),
      inspect: (key) => this.answer('inspect', () => session.inspect(key)),
      forceRelease: (key) => this.answer('forceRelease', () => session.forceRelease(key)),
      close: () => session.close(),
    };
  }

  goAway(fault: Fault = 'not sent'): void {
    this.fault = () => fault;
  }

  /** @param isNoticed whether the sessions notice that they are connected again */
  comeBack(isNoticed = true): void {
    this.fault = () => undefined;
    if (isNoticed) for (const client of this.clients) client.reconnected();
  }

  /** As a store does that falls back on something by itself. */
  tellDegraded(isLocal: boolean, cause?: LockStoreError): void {
    for (const client of this.clients) client.degraded(isLocal, cause);
  }

  /** The next `count` requests for a lock fail, everything else works. */
  failNextAsks(count: number, fault: Fault = 'not sent'): void {
    let left = count;
    this.fault = (kind) => (kind === 'acquire' && left-- > 0 ? fault : undefined);
  }

  private noted(request: OwnerRequest): OwnerRequest {
    if (request.inDoubt) this.doubts.push(request.owner);
    return request;
  }

  private async answer<T>(kind: Kind, request: () => PromiseLike<T>): Promise<T> {
    this.asked[kind] = (this.asked[kind] ?? 0) + 1;
    const fault = this.fault(kind);
    if (fault instanceof Error) throw fault;
    if (fault === 'not sent') throw outOfReach('nobody is there', false);
    const { gate } = this;
    const reply = await request();
    await gate;
    // Whoever is kept waiting for an answer may wait in vain.
    if (fault === 'no answer' || (gate !== undefined && this.fault(kind) !== undefined)) {
      throw outOfReach('nobody answers', true);
    }
    return reply;
  }
}

function outOfReach(message: string, inDoubt: boolean): LockStoreError {
  return new LockStoreError(message, { inDoubt, retryable: true, unreachable: true });
}
