import type {
  AcquireReply,
  AcquireRequest,
  LockStore,
  LockStoreClient,
  LockStoreError,
  LockStoreSession,
} from '../../lib/stores/port/index.js';

/** What a test does with a request: nothing, fails it, or delays its reply. */
export type Twist = LockStoreError | Promise<unknown> | undefined;

/** A store whose acquire requests a test can count, fail and delay. */
export class SpiedStore implements LockStore {
  readonly name: string;
  readonly asked: AcquireRequest[] = [];
  /** Called with the number of the request, from 1. A promise delays the reply, not the request. */
  twist: (number: number) => Twist = () => undefined;

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    const ask = session.acquire.bind(session);
    session.acquire = async (request): Promise<AcquireReply> => {
      const twist = this.twist(this.asked.push(request));
      if (twist instanceof Error) throw twist;
      const reply = await ask(request);
      await twist;
      return reply;
    };
    return session;
  }
}
