import { clientOf } from '../../ordered/lock-queue.js';
import type { OwnerId, OwnerRequest, ReleaseReply } from '../../port/lock-store.js';
import { TOMBSTONE_TTL } from '../../port/times.js';
import { storeFailure } from '../../port/store-failure.js';
import { EtcdError, isOutOfSpace, status } from '../connection/etcd-failure.js';
import type { Call } from '../connection/protocol.js';
import type { LockContext } from './context.js';
import { endOf, type Entry } from './entries.js';

/**
 * How long a release waits for its session's pending queue position, ms. Requests overtake each other: without that
 * position the next holder would see no waiters and serve all of its own callers first.
 */
const POSITION_FIRST = 500;

/** The lease for tombstones, and until when new ones use it. */
interface TombstoneLease {
  readonly id: Promise<number>;
  readonly until: number;
}

/** Releases locks, removes waiters, and breaks holds. */
export class Releaser {
  private tombstoneLease: TombstoneLease | undefined;
  private listens = false;

  constructor(private readonly context: LockContext) {}

  release(request: OwnerRequest): Promise<ReleaseReply> {
    const { key, owner, inDoubt } = request;
    const { timers, turns } = this.context;
    const work = (): Promise<ReleaseReply> => this.remove(request, inDoubt);
    const isHeld = this.context.own.get(key, owner)?.isHeld === true;
    if (!isHeld || inDoubt || this.context.acquires.has(key, owner)) return turns.run(key, work);
    // Requests of other owners must not delay the next holder.
    const position = this.context.acquires.positionBefore(key);
    if (position === undefined) return turns.runBeside(key, work);
    return turns.runBeside(key, async () => {
      await timers.within(POSITION_FIRST, position);
      return await work();
    });
  }

  async cancel(request: OwnerRequest): Promise<void> {
    await this.context.turns.run(request.key, () => this.remove(request, true));
  }

  /** @param alsoWaiter whether to remove the owner even if it only waits */
  private async remove(request: OwnerRequest, alsoWaiter: boolean): Promise<ReleaseReply> {
    if (!request.inDoubt) return await this.removeWith(request, alsoWaiter, []);
    const key = this.context.names.tombstone(request.key, request.owner);
    for (let tries = 0; tries < 2; tries++) {
      const current = this.currentTombstoneLease();
      try {
        const lease = await current.id;
        return await this.removeWith(request, alsoWaiter, [{ do: 'put', key, value: '', lease }]);
      } catch (error) {
        if (isOutOfSpace(error)) break;
        const { cause } = storeFailure(error);
        const isGone = cause instanceof EtcdError && cause.code === status.notFound;
        if (!isGone || tries > 0) throw error;
        // etcd has ended the lease, so nothing was carried out.
        if (this.tombstoneLease === current) this.tombstoneLease = undefined;
      }
    }
    // Out of space: etcd still deletes, and rejects the late request just as it rejects the tombstone.
    return await this.removeWith(request, alsoWaiter, []);
  }

  private async removeWith(
    { key, owner }: OwnerRequest,
    alsoWaiter: boolean,
    tombstone: Call[],
  ): Promise<ReleaseReply> {
    const entry = this.context.own.get(key, owner);
    if (entry === undefined || (!entry.isHeld && !alsoWaiter))
      return await this.removeUnknown(key, owner, alsoWaiter, tombstone);
    const wasHeld = entry.isHeld && !this.context.own.hasExpired(entry);
    this.context.waited.remove(entry);
    const existed = await this.context.own.delete(entry, tombstone);
    return existed && wasHeld ? 'released' : 'not-held';
  }

  /** Removes an owner of which this session does not know whether it holds the lock. */
  private async removeUnknown(
    key: string,
    owner: OwnerId,
    alsoWaiter: boolean,
    tombstone: Call[],
  ): Promise<ReleaseReply> {
    const { names, transactions } = this.context;
    if (tombstone.length > 0) await transactions.run(key, { do: 'txn', then: tombstone });
    for (;;) {
      const state = await this.context.reader.read(names.lock(key));
      const found = state.entryOf(owner);
      const isHolder = found !== undefined && state.holders.includes(found);
      if (found === undefined || (!isHolder && !alsoWaiter)) return 'not-held';
      const known = this.context.own.get(key, owner);
      if (known !== undefined) {
        this.context.waited.remove(known);
        this.context.own.drop(known);
      }
      const { name, modified } = found;
      const isDeleted = await transactions.runIf(key, { key: name, modified }, { do: 'delete', key: name });
      if (isDeleted) return isHolder ? 'released' : 'not-held';
    }
  }

  /**
   * Watches for notices of other sessions that have broken a hold of this one. A session that has never waited does not
   * watch; it notices at its next renewal.
   */
  listen(): void {
    if (this.listens) return;
    this.listens = true;
    const { client, names, watches } = this.context;
    const start = names.breakNotices(client.id);
    watches.watch({
      start,
      end: endOf(start),
      of: 'puts',
      watched: () => undefined,
      changed: (events) => {
        for (const { key, value } of events) this.broken(value, key.slice(start.length) as OwnerId);
      },
    });
  }

  /** Deletes the entry of a hold and notifies its session. False if the entry is gone. */
  async breakEntry({ key, name, owner, created }: Entry): Promise<boolean> {
    const { names, transactions, leases, client } = this.context;
    const holder = clientOf(owner);
    const notice = names.breakNotices(holder) + owner;
    const breakWith = (...more: readonly Call[]): Promise<boolean> =>
      transactions.runIf(key, { key: name, created }, { do: 'delete', key: name }, ...more);
    if (holder === client.id) {
      const isBroken = await breakWith();
      if (isBroken) this.broken(key, owner as OwnerId);
      return isBroken;
    }
    try {
      const lease = await leases.for(0);
      if (!(await breakWith({ do: 'put', key: notice, value: key, lease }))) return false;
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      // etcd still deletes. The holder notices at its next renewal.
      return await breakWith();
    }
    // The watch has delivered the notice by its put.
    transactions.run(key, { do: 'txn', then: [{ do: 'delete', key: notice }] }).catch(() => undefined);
    return true;
  }

  /** A hold of this session was broken. */
  private broken(key: string, owner: OwnerId): void {
    const entry = this.context.own.get(key, owner);
    if (entry !== undefined) this.context.own.drop(entry);
    this.context.client.broken(owner);
  }

  /** The tombstones of a minute use one lease. */
  private currentTombstoneLease(): TombstoneLease {
    const { client, leases } = this.context;
    const now = client.now();
    if (this.tombstoneLease !== undefined && this.tombstoneLease.until >= now) return this.tombstoneLease;
    const lease: TombstoneLease = {
      id: leases.grantPassing((2 * TOMBSTONE_TTL) / 1_000),
      until: now + TOMBSTONE_TTL,
    };
    this.tombstoneLease = lease;
    lease.id.catch(() => {
      if (this.tombstoneLease === lease) this.tombstoneLease = undefined;
    });
    return lease;
  }
}
