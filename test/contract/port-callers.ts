import {
  LockStoreError,
  type AcquireReply,
  type OwnerId,
  type PushedGrant,
  type ReleaseReply,
  type RenewReply,
  type StoredHold,
} from '../../lib/stores/port/index.js';
import { until } from '../support/until.js';
import type { Tuple } from './contract-context.js';
import type { PortClient, AskSettings } from './port-client.js';

/** A lease long enough for all processes that keep the lock to be notified, ms. */
const SHORT = 60;

/** A caller that wants a lock or a permit: one owner at a client of the port. */
export class PortCaller {
  owner: OwnerId;

  constructor(
    readonly client: PortClient,
    readonly key: string,
    private readonly settings: AskSettings = {},
  ) {
    this.owner = client.newOwner();
  }

  /** @param settings for this request, in addition to the caller's own */
  async acquire(settings: AskSettings = {}): Promise<AcquireReply> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.client.acquire(this.key, this.owner, { ...this.settings, ...settings });
      } catch (error) {
        // On a busy machine servers of a quorum are late at times, and a semaphore needs most of them.
        if (!(error instanceof LockStoreError && error.retryable) || attempt === 3) throw error;
        // A try that failed is used up (P30).
        if ((settings.wait ?? this.settings.wait) !== true) {
          await this.cancel(true);
          this.owner = this.client.newOwner();
        }
      }
    }
  }

  /** Acquires immediately; returns the token. */
  async hold(settings: AskSettings = {}): Promise<number> {
    const reply = await this.acquire(settings);
    if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
    return reply.token;
  }

  /** Joins the queue; returns the reply. */
  async queue(settings: AskSettings = {}): Promise<Extract<AcquireReply, { outcome: 'queued' | 'busy' }>> {
    const reply = await this.acquire({ ...settings, wait: true });
    if (reply.outcome !== 'queued') throw new Error(`not queued but ${reply.outcome}`);
    return reply;
  }

  /** Polls, and then holds the lock: by the reply, or by a push that is under way. */
  async served(): Promise<void> {
    const reply = await this.acquire({ wait: true });
    if (reply.outcome === 'queued') await this.decided();
    else if (reply.outcome !== 'granted') throw new Error(`not served but ${reply.outcome}`);
  }

  /** The reply to another owner that does not wait. A rejected owner is used up (P30). */
  newcomer(settings: AskSettings = {}): Promise<AcquireReply> {
    return new PortCaller(this.client, this.key, this.settings).acquire(settings);
  }

  /** Repeats its request when the lock is free, and acquires it. */
  async obtain(): Promise<void> {
    const reply = await this.acquire({ wait: true });
    if (this.client.isDecidedByVotes && reply.outcome === 'queued') await this.decided();
    else if (reply.outcome !== 'granted') throw new Error(`not granted but ${reply.outcome}`);
  }

  /**
   * Receives its grant by a push. Members of a quorum end a lease one after the other, and a request in between gets too
   * few of them: the caller repeats the request after a second, as the engine does.
   */
  private async decided(): Promise<void> {
    const { isDecidedByVotes } = this.client;
    let probes = 0;
    await until('the grant is pushed', async () => {
      if (this.pushes > 0) return true;
      probes += 1;
      if (!isDecidedByVotes || probes % 200 > 0) return false;
      return (await this.acquire({ wait: true })).outcome === 'granted';
    });
  }

  /** The grant pushed to it. */
  pushed(): Promise<PushedGrant> {
    return this.client.granted(this.owner);
  }

  get pushes(): number {
    return this.client.grants.filter(({ owner }) => owner === this.owner).length;
  }

  get isBroken(): boolean {
    return this.client.broken.includes(this.owner);
  }

  async renew(lease: number, exactly = false): Promise<RenewReply | undefined> {
    const [reply] = await this.client.renew({ key: this.key, owner: this.owner, lease, exactly });
    return reply;
  }

  /** Ends its lease now, without a notification to waiters or to its own client, which might pass it on. */
  async expire(): Promise<void> {
    const { key, owner } = this;
    const other = await this.client.anotherClient();
    const [reply] = await other.renew({ key, owner, lease: SHORT, exactly: true });
    await other.close();
    if (reply !== 'renewed') throw new Error('it does not hold the lock');
    await until('its lease has expired', async () => (await this.stored()) === undefined);
  }

  /** The store's view of its hold. */
  async stored(): Promise<StoredHold | undefined> {
    const lock = await this.client.lockOf(this.key);
    return lock?.holders.find(({ owner }) => owner === this.owner);
  }

  release(inDoubt = false): Promise<ReleaseReply> {
    return this.client.release(this.key, this.owner, inDoubt);
  }

  cancel(inDoubt = false): Promise<void> {
    return this.client.cancel(this.key, this.owner, inDoubt);
  }
}

/** This many callers, on these clients in turn. */
export function crowd<N extends number>(
  count: N,
  clients: readonly PortClient[],
  key: string,
  settings: AskSettings = {},
): Tuple<PortCaller, N> {
  const callers = Array.from({ length: Math.ceil(count / clients.length) }, () =>
    clients.map((client) => new PortCaller(client, key, settings)),
  );
  return callers.flat().slice(0, count) as Tuple<PortCaller, N>;
}

/** So many callers that `one` and `others` together leave no permit, and two more. */
export function callersOf(clients: readonly PortClient[], key: string, limit: number) {
  const [one, waiter, next] = crowd(3, clients, key, { limit });
  const others: PortCaller[] = crowd(limit - 1, [...clients].reverse(), key, { limit });
  return { one, others, waiter, next };
}

/** Waits until the store reports these holders and these waiters, the first waiter first. */
export async function stand(
  holders: readonly PortCaller[],
  waiters: readonly PortCaller[] = [],
): Promise<void> {
  const [first] = [...holders, ...waiters];
  if (!first) throw new Error('no caller');
  const ownersOf = (list: readonly { readonly owner: string }[] = []): string[] =>
    list.map(({ owner }) => owner);
  // Members of a quorum may disagree on the first of several holders that were granted together.
  const pictureOf = (holding: readonly string[], waiting: readonly string[]): string =>
    `${[...holding].sort().join(' ')} | ${waiting.join(' ')}`;
  const wanted = pictureOf(ownersOf(holders), ownersOf(waiters));
  let found = '';
  await until('they hold and wait', async () => {
    const lock = await first.client.lockOf(first.key);
    found = pictureOf(ownersOf(lock?.holders), ownersOf(lock?.waiters));
    return found === wanted;
  }).catch((cause: unknown) => {
    throw new Error(`not "${wanted}" but "${found}"`, { cause });
  });
}
