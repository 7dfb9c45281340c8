import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type Grant,
  type LockStoreSession,
  type OwnerRequest,
  type RaiseRequest,
  type ReleaseReply,
  type RenewReply,
  type RenewRequest,
  type ReserveReply,
  type ReserveRequest,
  type StoredLock,
} from '../stores/port/lock-store.js';
import type { MemorySession } from '../stores/memory/memory-session.js';

/** What a test has done to a store. */
export interface Faults {
  /** Whether requests about this key fail; without a key, all requests. */
  isUnavailable(key?: string): boolean;
  /** A caller stands in the queue of a key. */
  queued(key: string): void;
}

/** A session of the application that is tested: fails where the test wants it. */
export class TestLockSession implements LockStoreSession {
  constructor(
    private readonly session: MemorySession,
    private readonly faults: Faults,
  ) {}

  async start(): Promise<void> {
    this.check();
    await this.session.start();
  }

  async ask(request: AskRequest): Promise<AskReply> {
    this.check(request.key);
    const reply = await this.session.ask(request);
    if (reply.outcome === 'queued') this.faults.queued(request.key);
    return reply;
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    for (const { key } of requests) this.check(key);
    return await this.session.takeAll(requests);
  }

  async cancel(request: OwnerRequest): Promise<void> {
    this.check(request.key);
    await this.session.cancel(request);
  }

  async release(request: OwnerRequest): Promise<ReleaseReply> {
    this.check(request.key);
    return await this.session.release(request);
  }

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    this.check();
    const renewed = requests.map(async (request): Promise<RenewReply | LockStoreError> => {
      if (this.faults.isUnavailable(request.key)) return unavailable();
      const [reply] = await this.session.renew([request]);
      return reply ?? 'gone';
    });
    return await Promise.all(renewed);
  }

  async reserve(request: ReserveRequest): Promise<ReserveReply> {
    this.check(request.key);
    return await this.session.reserve(request);
  }

  async raise(request: RaiseRequest): Promise<void> {
    this.check(request.key);
    await this.session.raise(request);
  }

  async inspect(key: string): Promise<StoredLock | null> {
    this.check(key);
    return await this.session.inspect(key);
  }

  async forceRelease(key: string): Promise<boolean> {
    this.check(key);
    return await this.session.forceRelease(key);
  }

  async close(): Promise<void> {
    await this.session.close();
  }

  private check(key?: string): void {
    if (this.faults.isUnavailable(key)) throw unavailable();
  }
}

/** Not to be tried again: a call fails at once, not when its `waitTime` is over. */
function unavailable(): LockStoreError {
  return new LockStoreError('the test has made the store unavailable', {
    inDoubt: false,
    retryable: false,
    unreachable: true,
  });
}
