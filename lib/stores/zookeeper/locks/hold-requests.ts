import { clientOf } from '../../ordered/lock-queue.js';
import type {
  LockStoreError,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
} from '../../port/lock-store.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import { TOKENS_OF_ONE } from './client-nodes.js';
import { grantIn, type EntryData } from './layout.js';
import type { LockNodes } from './lock-nodes.js';
import { leaseToWrite, type OwnEntries, type OwnEntry, type OwnHold } from './own-entries.js';

/** Renewals in one transaction: enough to spread its cost, and small. */
const LARGEST_RENEWAL = 64;

interface HeldRenewal {
  readonly index: number;
  readonly entry: OwnEntry;
  readonly hold: OwnHold;
  readonly lease: number;
  readonly exactly: boolean;
}

/** Renews and releases holds, and reserves tokens for them. */
export class HoldRequests {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnEntries,
  ) {}

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    const replies = new Array<RenewReply | LockStoreError | undefined>(requests.length);
    const held: HeldRenewal[] = [];
    const work: Promise<void>[] = [];
    const now = this.nodes.client.now();
    requests.forEach((request, index) => {
      const entry = this.own.get(request.owner, request.key);
      const hold = entry?.hold;
      if (entry !== undefined && hold !== undefined && hold.endsAt > now) {
        const exactly = request.exactly === true;
        held.push({ index, entry, hold, lease: leaseToWrite(hold, request.lease, exactly, now), exactly });
        return;
      }
      work.push(
        this.renewUnknown(request, entry).then(
          (reply) => void (replies[index] = reply),
          (error: unknown) => void (replies[index] = zooKeeperFailure(error)),
        ),
      );
    });
    for (let first = 0; first < held.length; first += LARGEST_RENEWAL) {
      work.push(this.renewHeld(held.slice(first, first + LARGEST_RENEWAL), replies));
    }
    await Promise.all(work);
    return replies.map((reply) => reply ?? zooKeeperFailure('it was not answered'));
  }

  async reserve({ key, owner, lease, tokens }: ReserveRequest): Promise<ReserveReply> {
    const { nodes, own } = this;
    if (tokens > TOKENS_OF_ONE) throw new RangeError(`no more than ${TOKENS_OF_ONE} tokens at once`);
    const entry = own.get(owner, key);
    const hold = entry?.hold;
    const now = nodes.client.now();
    if (entry === undefined || hold === undefined || hold.endsAt <= now) {
      if (entry?.hold !== undefined) await own.remove(entry);
      return { outcome: await this.whyNotHeld(key, owner) };
    }
    // Writing begins a new lease in any case, since others can't know how much of the old one is left.
    const written = leaseToWrite(hold, lease, false, now);
    const [{ stat } = {}, queue] = await Promise.all([
      own.write({ entry, data: own.holdData(entry.request, hold, written) }),
      nodes.queue(key),
    ]);
    if (stat === undefined) return { outcome: await this.lost(entry) };
    if (lease > 0) own.extend(entry, hold, written);
    const token = nodes.clientNodes.tokenOf(stat.mzxid);
    return { outcome: 'reserved', token, othersWait: queue.othersWait(nodes.client.id) };
  }

  /** Releases a hold, or removes whatever else the owner has. */
  async release({ key, owner, inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    const { own, nodes } = this;
    const entry = own.get(owner, key);
    if (entry === undefined) {
      if (clientOf(owner) !== nodes.client.id) {
        const path = await this.pathOfHolder(key, owner);
        return path !== undefined && (await nodes.removeOfAny(path)) ? 'released' : 'not-held';
      }
      if (inDoubt || own.isInDoubt(owner)) await own.recover(key, owner);
      return 'not-held';
    }
    const { hold } = entry;
    const isHeld = hold !== undefined && hold.endsAt > nodes.client.now();
    if (hold === undefined && !inDoubt) return 'not-held';
    const wasThere = await own.remove(entry);
    return isHeld && wasThere ? 'released' : 'not-held';
  }

  async cancel({ key, owner }: OwnerRequest): Promise<void> {
    const entry = this.own.get(owner, key);
    if (entry !== undefined) await this.own.remove(entry);
    else await this.own.recover(key, owner);
  }

  /** Writes what is left of the lease of a hold that will not be renewed any more. */
  async leaveToExpire({ path, request, hold }: OwnEntry): Promise<void> {
    if (hold === undefined) return;
    const now = this.nodes.client.now();
    const left = Math.max(1, Math.ceil(hold.endsAt - now));
    const lease = leaseToWrite(hold, left, true, now);
    await this.nodes.write({ path, data: this.own.holdData(request, hold, lease, true) });
  }

  private async renewHeld(
    held: readonly HeldRenewal[],
    replies: (RenewReply | LockStoreError | undefined)[],
  ): Promise<void> {
    const writes = held.map(({ entry, hold, lease, exactly }) => ({
      entry,
      data: hold.isKept && !exactly ? undefined : this.own.holdData(entry.request, hold, lease, exactly),
    }));
    try {
      if ((await this.own.write(...writes)) !== undefined) {
        for (const { index, entry, hold, lease } of held) {
          this.own.extend(entry, hold, lease);
          replies[index] = 'renewed';
        }
        return;
      }
      const [only] = held;
      if (held.length === 1 && only !== undefined) replies[only.index] = await this.lost(only.entry);
      else await Promise.all(held.map((one) => this.renewHeld([one], replies)));
    } catch (error) {
      for (const { index } of held) replies[index] = zooKeeperFailure(error);
    }
  }

  /** Renews a hold of another client, or answers for one that has ended or belongs to an earlier session. */
  private async renewUnknown(request: RenewRequest, entry: OwnEntry | undefined): Promise<RenewReply> {
    const { key, owner } = request;
    const isOwn = entry?.hold !== undefined || clientOf(owner) === this.nodes.client.id;
    if (entry?.hold !== undefined) await this.own.remove(entry);
    if (!isOwn && (await this.renewOfOther(request))) return 'renewed';
    return await this.whyNotHeld(key, owner);
  }

  private async renewOfOther({ key, owner, lease, exactly }: RenewRequest): Promise<boolean> {
    const { nodes } = this;
    const path = await this.pathOfHolder(key, owner);
    const read = path === undefined ? undefined : await nodes.read(path);
    const grant = read && grantIn(read.data, read.stat);
    if (path === undefined || read === undefined || grant === undefined) return false;
    const data: EntryData = {
      ...read.data,
      state: 'holds',
      lease: exactly === true ? lease : Math.max(lease, read.data.lease),
      isKept: exactly !== true && read.data.isKept,
      token: read.data.token ?? nodes.clientNodes.tokenOf(grant.zxid),
      since: read.data.since ?? grant.since,
    };
    return (await nodes.write({ path, data })) !== undefined;
  }

  private async pathOfHolder(key: string, owner: string): Promise<string | undefined> {
    const queue = await this.nodes.queue(key, { isFresh: true });
    return queue.holderOf(owner)?.path;
  }

  private async lost(entry: OwnEntry): Promise<'gone' | 'taken'> {
    this.own.forget(entry);
    return await this.whyNotHeld(entry.request.key, entry.request.owner);
  }

  private async whyNotHeld(key: string, owner: string): Promise<'gone' | 'taken'> {
    return (await this.nodes.queue(key, { isFresh: true })).whyNotHeld(owner);
  }
}
