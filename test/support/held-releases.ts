import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/index.js';

/** A store that carries releases out at once, and whose replies to them a test can keep back. */
export class HeldReleases implements LockStore {
  readonly name: string;
  /** How many replies are kept back. */
  held = 0;
  private gate: Promise<void> | undefined;

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  /** From now on. The function that it answers lets all of them go. */
  hold(): () => void {
    let open = (): void => undefined;
    this.gate = new Promise((resolve) => (open = resolve));
    return () => {
      this.gate = undefined;
      open();
    };
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    session.release = this.keptBack(session.release.bind(session));
    const renew = session.renew.bind(session);
    const keep = this.keptBack(renew);
    // What sets a lease exactly keeps a lock taken whose hold is over.
    session.renew = (requests) =>
      requests.some(({ exactly }) => exactly === true) ? keep(requests) : renew(requests);
    return session;
  }

  private keptBack<A, R>(send: (request: A) => PromiseLike<R>): (request: A) => Promise<R> {
    return async (request) => {
      const reply = send(request);
      this.held += 1;
      await this.gate;
      this.held -= 1;
      return await reply;
    };
  }
}
