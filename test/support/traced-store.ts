import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/index.js';

/** A store of which a test can know whether requests are under way to it that nobody waits for. */
export class TracedStore implements LockStore {
  readonly name: string;
  private readonly underWay = new Set<Promise<unknown>>();

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    session.acquire = this.traced(session.acquire.bind(session));
    session.cancel = this.traced(session.cancel.bind(session));
    session.release = this.traced(session.release.bind(session));
    return session;
  }

  /** Resolves when all requests that change who holds or waits have been answered. */
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
