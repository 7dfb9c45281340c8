import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/stores/port/index.js';
import { elapse } from './until.js';

type LateRequest = 'acquire' | 'reserve';

/** A store that carries requests out immediately and delays replies. */
export class LateAnswersStore implements LockStore {
  readonly name: string;

  /**
   * @param lateness the delay of the next reply, ms
   * @param requested called for each request that acquires or releases, with its limit; what it returns is called when
   *   the reply arrives
   */
  constructor(
    private readonly real: LockStore,
    private readonly lateness: (request: LateRequest) => number,
    private readonly requested: (limit: number) => () => void = () => () => {},
  ) {
    this.name = real.name;
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.real.open(client);
    const ask = session.acquire.bind(session);
    const release = session.release.bind(session);
    const reserve = session.reserve?.bind(session);
    const limits = new Map<string, number>();
    session.acquire = (request) => {
      limits.set(request.owner, request.limit);
      return this.observed(request.limit, this.late('acquire', ask(request)));
    };
    session.release = (request) => this.observed(limits.get(request.owner) ?? 1, release(request));
    if (reserve) session.reserve = (request) => this.late('reserve', reserve(request));
    return session;
  }

  private observed<T>(limit: number, answer: PromiseLike<T>): PromiseLike<T> {
    const replied = this.requested(limit);
    void answer.then(replied, replied);
    return answer;
  }

  private late<T>(request: LateRequest, answer: PromiseLike<T>): PromiseLike<T> {
    const ms = this.lateness(request);
    return ms > 0 ? this.after(ms, answer) : answer;
  }

  private async after<T>(ms: number, answer: PromiseLike<T>): Promise<T> {
    const settled = await Promise.allSettled([answer]);
    await elapse(ms);
    const [outcome] = settled;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }
}
