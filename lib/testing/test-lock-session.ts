import { ForwardingSession, type WholeSession } from '../stores/port/forwarding-session.js';
import {
  LockStoreError,
  type AskReply,
  type AskRequest,
  type Grant,
  type RenewReply,
  type RenewRequest,
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
export class TestLockSession extends ForwardingSession {
  constructor(
    private readonly session: MemorySession,
    private readonly faults: Faults,
  ) {
    super();
  }

  async start(): Promise<void> {
    this.check();
    await this.session.start();
  }

  override async ask(request: AskRequest): Promise<AskReply> {
    const reply = await super.ask(request);
    if (reply.outcome === 'queued') this.faults.queued(request.key);
    return reply;
  }

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    for (const { key } of requests) this.check(key);
    return await this.session.takeAll(requests);
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

  async close(): Promise<void> {
    await this.session.close();
  }

  protected async at<T>(key: string, request: (session: WholeSession) => PromiseLike<T>): Promise<T> {
    this.check(key);
    return await request(this.session);
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
