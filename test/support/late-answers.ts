import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/stores/port/index.js';
import { elapse } from './until.js';

type LateRequest = 'acquire' | 'reserve';

/** A store that carries requests out immediately and delays replies. */
export class LateAnswersStore implements LockStore {
  readonly name: string;

  /** @param lateness the delay of the next reply, ms */
  constructor(
    private readonly real: LockStore,
    private readonly lateness: (request: LateRequest) => number,
  ) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    const ask = session.acquire.bind(session);
    const reserve = session.reserve?.bind(session);
    session.acquire = (request) => this.late('acquire', ask(request));
    if (reserve) session.reserve = (request) => this.late('reserve', reserve(request));
    return session;
  }

  private async late<T>(request: LateRequest, answer: PromiseLike<T>): Promise<T> {
    const ms = this.lateness(request);
    const settled = await Promise.allSettled([answer]);
    if (ms > 0) await elapse(ms);
    const [outcome] = settled;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }
}
