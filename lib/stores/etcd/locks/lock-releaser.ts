import { isNamed } from '../../port/forwarding-session.js';
import type { BreakReply, NamedHold, OwnerId, OwnerRequest, ReleaseReply } from '../../port/lock-store.js';
import { TOMBSTONE_TTL } from '../../port/times.js';
import { storeFailure } from '../../port/store-failure.js';
import { EtcdError, isOutOfSpace, status } from '../connection/etcd-failure.js';
import type { Call, Transaction } from '../protocol/requests.js';
import { holdersIn, type Entry } from './entry.js';
import { clientOf } from './key-names.js';
import type { LockContext } from './lock-context.js';
import type { LockReader } from './lock-reader.js';
import type { OwnEntries } from './own-entries.js';
import type { PendingAsks } from './pending-asks.js';
import type { WaitedLocks } from './waited-locks.js';

/**
 * For how long the end of a hold is held back for the next place of its session, ms: requests overtake each other, and
 * whoever has the lock next would see nobody in line, and have all of its callers before that place (P20, P26).
 */
const PLACE_FIRST = 500;

/** The lease on which tombstones live, and until when it is used for new ones. */
interface Tombstones {
  readonly lease: Promise<number>;
  readonly until: number;
}

/** Gives locks and places back, and breaks locks. */
export class LockReleaser {
  private tombstones: Tombstones | undefined;

  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
    private readonly ownEntries: OwnEntries,
    private readonly waited: WaitedLocks,
    private readonly asks: Pick<PendingAsks, 'has' | 'placeBefore'>,
  ) {}

  release(request: OwnerRequest): Promise<ReleaseReply> {
    const { key, owner, inDoubt } = request;
    const isHeld = this.ownEntries.get(key, owner)?.isHeld === true;
    const { timers, turns } = this.context;
    const work = (): Promise<ReleaseReply> => this.giveBack(request, inDoubt);
    const isFree = isHeld && !inDoubt && !this.asks.has(key, owner);
    if (!isFree) return turns.run(key, work);
    // What is asked for others must not keep those who wait from the lock.
    const place = this.asks.placeBefore(key);
    if (place === undefined) return turns.beside(key, work);
    return turns.beside(key, async () => {
      await timers.timers.within(PLACE_FIRST, place);
      return await work();
    });
  }

  async cancel(request: OwnerRequest): Promise<void> {
    await this.context.turns.run(request.key, () => this.giveBack(request, true));
  }

  /** @param leaves whether a place is given up, too */
  private async giveBack(request: OwnerRequest, leaves: boolean): Promise<ReleaseReply> {
    if (!request.inDoubt) return await this.giveBackWith(request, leaves, []);
    const { names } = this.context;
    const key = names.tombstone(request.key, request.owner);
    for (let tries = 0; tries < 2; tries++) {
      const tombstones = this.currentTombstones();
      try {
        const lease = await tombstones.lease;
        return await this.giveBackWith(request, leaves, [{ do: 'put', key, value: '', lease }]);
      } catch (error) {
        if (isOutOfSpace(error)) break;
        const { cause } = storeFailure(error);
        const isGone = cause instanceof EtcdError && cause.code === status.notFound;
        if (!isGone || tries > 0) throw error;
        // etcd has lost the lease, or an operator has ended it. Nothing was carried out.
        if (this.tombstones === tombstones) this.tombstones = undefined;
      }
    }
    // A full etcd still deletes, and carries a late request out no more than this tombstone.
    return await this.giveBackWith(request, leaves, []);
  }

  private async giveBackWith(
    { key, owner }: OwnerRequest,
    leaves: boolean,
    tombstone: Call[],
  ): Promise<ReleaseReply> {
    const entry = this.ownEntries.get(key, owner);
    if (entry === undefined || (!entry.isHeld && !leaves)) {
      return await this.giveBackUnknown(key, owner, leaves, tombstone);
    }
    const wasHeld = entry.isHeld && !this.ownEntries.isOver(entry);
    this.waited.forget(entry);
    const wasThere = await this.ownEntries.delete(entry, tombstone);
    return wasThere && wasHeld ? 'released' : 'not-held';
  }

  /** Of an owner of which this session does not know whether it holds the lock. */
  private async giveBackUnknown(
    key: string,
    owner: OwnerId,
    leaves: boolean,
    tombstone: Call[],
  ): Promise<ReleaseReply> {
    const { names, transactions } = this.context;
    if (tombstone.length > 0) {
      await transactions.run([key], { do: 'txn', if: [], then: tombstone, else: [] });
    }
    for (;;) {
      const { entries } = await this.reader.read(names.lock(key));
      const found = entries.find((entry) => entry.owner === owner);
      const isHolder = found !== undefined && holdersIn(entries).includes(found);
      if (found === undefined || (!isHolder && !leaves)) return 'not-held';
      const known = this.ownEntries.get(key, owner);
      if (known !== undefined) this.waited.forget(known);
      if (known !== undefined) this.ownEntries.drop(known);
      const { reply } = await transactions.run([key], {
        do: 'txn',
        if: [{ key: found.name, modified: found.modified }],
        then: [{ do: 'delete', key: found.name }],
        else: [],
      });
      if (reply.succeeded) return isHolder ? 'released' : 'not-held';
    }
  }

  /** Breaks all holds. Answers whether there were any. */
  async forceRelease(key: string): Promise<boolean> {
    const { names, turns } = this.context;
    return await turns.run(key, async () => {
      const { entries } = await this.reader.readLiving(names.lock(key));
      let isBroken = false;
      for (const holder of holdersIn(entries)) if (await this.breakOne(holder)) isBroken = true;
      return isBroken;
    });
  }

  /** Breaks one hold: its entry, which is deleted only if it is the one that was compared. */
  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    const { names, turns } = this.context;
    return await turns.run(key, async () => {
      for (;;) {
        const { entries } = await this.reader.readLiving(names.lock(key));
        const holder = holdersIn(entries).find((entry) => {
          return isNamed({ owner: entry.owner, token: this.reader.knownTokenOf(entry) }, hold);
        });
        if (holder === undefined) return entries.length === 0 ? 'free' : 'held-by-others';
        if (await this.breakOne(holder)) return 'broken';
      }
    });
  }

  /** False if it is not there any more. */
  private async breakOne({ key, name, owner, created }: Entry): Promise<boolean> {
    const { names, transactions, leases, client } = this.context;
    const letter = names.mailbox(clientOf(owner)) + owner;
    const isOwn = clientOf(owner) === client.id;
    const breakWith = async (letters: Transaction['then']): Promise<boolean> => {
      const { reply } = await transactions.run([key], {
        do: 'txn',
        if: [{ key: name, created }],
        then: [{ do: 'delete', key: name }, ...letters],
        else: [],
      });
      return reply.succeeded;
    };
    const breakWithLetter = async (): Promise<boolean> => {
      const lease = leases.at(0) ?? (await leases.for(0));
      return await breakWith([{ do: 'put', key: letter, value: key, lease }]);
    };
    const isBroken = await (isOwn ? breakWith([]) : breakWithLetter()).catch((error: unknown) => {
      if (!isOutOfSpace(error)) throw error;
      // A full etcd still deletes. Its holder finds out at the next renewal.
      return breakWith([]);
    });
    if (!isBroken) return false;
    if (isOwn) this.broken(key, owner);
    // Who listens has been told, and who does not listen finds out at the next renewal.
    else
      void transactions
        .run([key], { do: 'txn', if: [], then: [{ do: 'delete', key: letter }], else: [] })
        .catch(() => undefined);
    return true;
  }

  /** A hold of this session was broken. */
  broken(key: string, name: string): void {
    const owner = name as OwnerId;
    const entry = this.ownEntries.get(key, owner);
    if (entry !== undefined) this.ownEntries.drop(entry);
    this.context.client.broken(owner);
  }

  /** Those of one such time share a lease. */
  private currentTombstones(): Tombstones {
    const { client, leases } = this.context;
    const now = client.now();
    if (this.tombstones !== undefined && this.tombstones.until >= now) return this.tombstones;
    const lease = leases.grantPassing((2 * TOMBSTONE_TTL) / 1_000);
    const tombstones = { lease, until: now + TOMBSTONE_TTL };
    this.tombstones = tombstones;
    lease.catch(() => {
      if (this.tombstones === tombstones) this.tombstones = undefined;
    });
    return tombstones;
  }
}
