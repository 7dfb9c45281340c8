import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/stores/port/index.js';

/** A store that carries releases out immediately; a test can hold their replies back. */
export class HeldReleases implements LockStore {
  readonly name: string;
  /** The number of replies held back. */
  held = 0;
  private gate: Promise<void> | undefined;

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  /** Holds replies back from now on; the returned function delivers them. */
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
    // A renewal to an exact lease keeps a lock held after its hold has ended (holdAtLeast).
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
