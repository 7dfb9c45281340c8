import type {
  AskReply,
  AskRequest,
  LockStore,
  LockStoreClient,
  LockStoreError,
  LockStoreSession,
} from '../../lib/index.js';

/** What a test does to a request: nothing, fail it, or hold its answer back. */
export type Twist = LockStoreError | Promise<unknown> | undefined;

/** A store whose requests for locks a test can count, fail and hold back. */
export class SpiedStore implements LockStore {
  readonly name: string;
  readonly asked: AskRequest[] = [];
  /** Called with the number of the request, from 1. A promise holds the answer back, not the request. */
  twist: (number: number) => Twist = () => undefined;

  constructor(private readonly real: LockStore) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    const ask = session.ask.bind(session);
    session.ask = async (request): Promise<AskReply> => {
      const twist = this.twist(this.asked.push(request));
      if (twist instanceof Error) throw twist;
      const reply = await ask(request);
      await twist;
      return reply;
    };
    return session;
  }
}
