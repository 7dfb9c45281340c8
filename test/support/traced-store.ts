import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/stores/port/index.js';

/** A store that knows its pending requests, including those that no caller awaits. */
export class TracedStore implements LockStore {
  readonly name: string;
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    session.acquire = this.traced(session.acquire.bind(session));
    session.release = this.traced(session.release.bind(session));
    return session;
  }

  /** Resolves when all requests that change holders or waiters have been answered. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) await Promise.allSettled(this.underWay);
  }

  private traced<A, R>(send: (request: A) => PromiseLike<R>): (request: A) => Promise<R> {
    return async (request) => {
      const answer = Promise.resolve(send(request));
      this.underWay.add(answer);
      try {
        return await answer;
      } finally {
        this.underWay.delete(answer);
      }
    };
  }
}
