import type {
  AskReply,
  AskRequest,
  LockStoreClient,
  LockStoreSession,
  OwnerRequest,
  RaiseRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoredLock,
} from '../lock-store.js';
import { raiseTokens, reserveTokens, type MemoryHold, type MemoryLocks } from './memory-locks.js';

/** One client of the locks in memory. Answers at once; promises only because the port has them. */
export class MemorySession implements LockStoreSession {
  constructor(
    private readonly locks: MemoryLocks,
    private readonly client: LockStoreClient,
  ) {}

  start(): Promise<void> {
    return Promise.resolve();
  }

  ask(request: AskRequest): Promise<AskReply> {
    const { key, owner, lease, wait, tokens } = request;
    const { client, locks } = this;
    const hold = this.holdOf(key);
    if (hold?.owner === owner) {
      this.prolong(hold, lease);
      // Tokens that were reserved with the grant are not told again: they may be in use.
      return this.granted(hold, 1);
    }
    if (wait && (hold !== undefined || locks.hasWaiters(key))) locks.enqueue(key, { ...request, client });
    if (hold === undefined) {
      const first = locks.handOver(key, owner);
      if (first === undefined || first.owner === owner) {
        locks.leaveQueue(key, owner);
        return this.granted(locks.grant(key, { owner, client, tokens }, lease, false), tokens);
      }
    }
    const expiresAt = locks.holdOf(key)?.expiresAt ?? client.now();
    return Promise.resolve({
      outcome: wait ? 'queued' : 'busy',
      holderLeaseLeft: Math.max(0, expiresAt - client.now()),
    });
  }

  cancel(request: OwnerRequest): Promise<void> {
    this.locks.leaveQueue(request.key, request.owner);
    this.giveBack(request);
    return Promise.resolve();
  }

  release(request: OwnerRequest): Promise<ReleaseReply> {
    if (request.inDoubt) this.locks.leaveQueue(request.key, request.owner);
    return Promise.resolve(this.giveBack(request) ? 'released' : 'not-held');
  }

  renew(requests: readonly RenewRequest[]): Promise<readonly RenewReply[]> {
    return Promise.resolve(
      requests.map(({ key, owner, lease }): RenewReply => {
        const hold = this.holdOf(key);
        if (hold === undefined) return 'gone';
        if (hold.owner !== owner) return 'taken';
        this.prolong(hold, lease);
        return 'renewed';
      }),
    );
  }

  reserve({ key, owner, lease, tokens }: ReserveRequest): Promise<ReserveReply> {
    const hold = this.holdOf(key);
    if (hold?.owner !== owner) return Promise.resolve({ outcome: hold === undefined ? 'gone' : 'taken' });
    this.prolong(hold, lease);
    const othersWait = this.locks.othersWait(key, this.client);
    return Promise.resolve({ outcome: 'reserved', token: reserveTokens(tokens), othersWait });
  }

  raise({ key, owner, token, since, floor }: RaiseRequest): Promise<void> {
    raiseTokens(floor);
    const hold = this.holdOf(key);
    if (hold?.owner === owner) Object.assign(hold, { token, since });
    return Promise.resolve();
  }

  inspect(key: string): Promise<StoredLock | null> {
    const hold = this.holdOf(key);
    if (hold === undefined) return Promise.resolve(null);
    const now = this.client.now();
    const waiters = [...this.locks.waitersOf(key)]
      .filter(({ aliveUntil }) => aliveUntil >= now)
      .map(({ owner, callers }) => ({ owner, callers, limit: 1, label: undefined }));
    const { owner, token, since, expiresAt } = hold;
    const holders = [{ owner, token, since, leaseLeft: expiresAt - now, label: undefined }];
    return Promise.resolve({ limit: 1, holders, waiters });
  }

  forceRelease(key: string): Promise<boolean> {
    const hold = this.holdOf(key);
    if (hold !== undefined) {
      this.locks.drop(hold);
      queueMicrotask(() => {
        hold.client.broken(hold.owner);
      });
      this.locks.handOver(key);
    }
    return Promise.resolve(hold !== undefined);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private holdOf(key: string): MemoryHold | undefined {
    this.locks.sweep(this.client.now());
    return this.locks.holdOf(key);
  }

  private giveBack({ key, owner }: OwnerRequest): boolean {
    const hold = this.holdOf(key);
    const held = hold?.owner === owner;
    if (held) this.locks.drop(hold);
    if (held || hold === undefined) this.locks.handOver(key);
    return held;
  }

  /** Exactly the lease for a pushed grant that is claimed; never shorter for any other. */
  private prolong(hold: MemoryHold, lease: number): void {
    const expiresAt = this.client.now() + lease;
    if (hold.unclaimed || expiresAt > hold.expiresAt) this.locks.prolong(hold, expiresAt);
    hold.unclaimed = false;
  }

  private granted({ key, token, since }: MemoryHold, tokens: number): Promise<AskReply> {
    const othersWait = this.locks.othersWait(key, this.client);
    return Promise.resolve({ outcome: 'granted', token, since, tokens, othersWait });
  }
}
