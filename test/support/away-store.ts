import { MemoryLockStore } from '../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerId,
  type OwnerRequest,
} from '../../lib/stores/port/index.js';

type Kind = 'acquire' | 'cancel' | 'release' | 'renew' | 'reserve' | 'raise' | 'inspect' | 'breakHold';
/** The outcome of a request: it is not sent, its reply is lost, or it fails with this error. */
export type Fault = 'not sent' | 'no answer' | Error | undefined;

/** A store in memory that a test can make unreachable. */
export class AwayStore implements LockStore {
  readonly name = 'a store that goes away';
  /** The number of requests of each kind. */
  readonly asked: Partial<Record<Kind, number>> = {};
  /** Owners that were cancelled or released while one of their requests was in doubt. */
  readonly doubts: OwnerId[] = [];
  /** Decides about each request; `key`: of requests to acquire and to inspect. */
  fault: (kind: Kind, key?: string) => Fault = () => undefined;
  /** Holds replies back until it resolves. */
  gate: Promise<void> | undefined;
  /** The store itself, without faults. */
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
    const { reserve, raiseTokens } = session;
    if (reserve === undefined || raiseTokens === undefined) throw new Error('the memory store has both');
    return {
      start: () => this.answer('inspect', () => session.start()),
      acquire: (request) => this.answer('acquire', () => session.acquire(request), request.key),
      release: (request) =>
        this.answer(request.wasGranted ? 'release' : 'cancel', () => session.release(this.noted(request))),
      renew: (requests) => this.answer('renew', () => session.renew(requests)),
      reserve: (request) => this.answer('reserve', () => reserve.call(session, request)),
      raiseTokens: (floor, keys) => this.answer('raise', () => raiseTokens.call(session, floor, keys)),
      inspect: (key) => this.answer('inspect', () => session.inspect(key), key),
      breakHold: (key, hold) => this.answer('breakHold', () => session.breakHold(key, hold)),
      close: () => session.close(),
    };
  }

  goAway(fault: Fault = 'not sent'): void {
    this.fault = () => fault;
  }

  comeBack(): void {
    this.fault = () => undefined;
    for (const client of this.clients) client.reconnected();
  }

  /** The connection for messages is back, which says nothing about that for requests. */
  messagesAreBack(): void {
    for (const client of this.clients) client.pollNow();
  }

  /** Like a store with a fallback of its own. */
  tellLocal(isLocal: boolean, cause?: LockStoreError): void {
    for (const client of this.clients) client.locksLocally(isLocal, cause);
  }

  /** The replies to the next `count` acquire requests are lost; everything else works. */
  failNextAsks(count: number): void {
    let left = count;
    this.fault = (kind) => (kind === 'acquire' && left-- > 0 ? 'no answer' : undefined);
  }

  private noted(request: OwnerRequest): OwnerRequest {
    if (request.inDoubt) this.doubts.push(request.owner);
    return request;
  }

  private async answer<T>(kind: Kind, request: () => PromiseLike<T>, key?: string): Promise<T> {
    this.asked[kind] = (this.asked[kind] ?? 0) + 1;
    const fault = this.fault(kind, key);
    if (fault instanceof Error) throw fault;
    if (fault === 'not sent') throw outOfReach('no connection', false);
    const { gate } = this;
    const reply = await request();
    await gate;
    // A reply that was held back may get lost, too.
    if (fault === 'no answer' || (gate !== undefined && this.fault(kind) !== undefined)) {
      throw outOfReach('no reply', true);
    }
    return reply;
  }
}

function outOfReach(message: string, inDoubt: boolean): LockStoreError {
  return new LockStoreError(message, { inDoubt, retryable: true, unreachable: true });
}
