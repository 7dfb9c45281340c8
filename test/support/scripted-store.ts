import {
  LockStoreError,
  type AcquireReply,
  type AcquireRequest,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type MonotonicMs,
  type OwnerId,
  type OwnerRequest,
  type StoredLock,
  type WallClockMs,
} from '../../lib/stores/port/index.js';
import { until } from './until.js';

interface Asked extends AcquireRequest {
  answer(reply: AcquireReply): void;
  fail(error: LockStoreError): void;
}

/** A store whose replies come from the test. */
export class ScriptedStore implements LockStore {
  readonly name = 'a scripted store';
  readonly asked: Asked[] = [];
  readonly cancelled: OwnerRequest[] = [];
  readonly released: OwnerRequest[] = [];
  client: LockStoreClient | undefined;
  /** The holder, until it is withdrawn or released. */
  held: OwnerId | undefined;
  /** When a withdrawal is confirmed. */
  cancelling = (): Promise<void> => Promise.resolve();
  /** How reservations are answered; undefined if the store has none. */
  reserving: LockStoreSession['reserve'];

  readonly open = (client: LockStoreClient): LockStoreSession => {
    this.client = client;
    return {
      start: () => Promise.resolve(),
      acquire: (request) =>
        new Promise((resolve, reject) => this.asked.push({ ...request, answer: resolve, fail: reject })),
      release: async (request) => {
        if (request.wasGranted) {
          this.released.push(request);
          return 'released';
        }
        this.cancelled.push(request);
        if (request.owner === this.held) this.held = undefined;
        await this.cancelling();
        return 'not-held';
      },
      renew: (requests) => Promise.resolve(requests.map(() => 'renewed' as const)),
      ...(this.reserving !== undefined && { reserve: this.reserving }),
      inspect: () => Promise.resolve(this.held === undefined ? null : heldBy(this.held)),
      breakHold: () => Promise.resolve('broken'),
      close: () => Promise.resolve(),
    };
  };

  /** The request number `index`, when it has been made. */
  async request(index: number): Promise<Asked> {
    await until(`request ${index}`, () => this.asked.length > index, { every: 1 });
    return this.asked[index]!;
  }

  /** @param ago when its lease began, ms */
  push(owner: OwnerId, token: number, lease = 2_000, ago = 0): void {
    const startedAt = (performance.now() - ago) as MonotonicMs;
    this.client?.granted(owner, { token, since: Date.now() as WallClockMs, startedAt, lease });
  }
}

const heldBy = (owner: string): StoredLock => ({
  limit: 1,
  holders: [{ owner, token: 1, since: undefined, leaseLeft: 30_000, permits: 1, label: undefined }],
  waiters: [],
});
export const granted = (token: number): AcquireReply => ({
  outcome: 'granted',
  token,
  since: Date.now() as WallClockMs,
});
export const queued: AcquireReply = { outcome: 'queued', holderLeaseLeft: 20_000 };
export const doubt = (): LockStoreError =>
  new LockStoreError('no answer', { inDoubt: true, retryable: true });
