import type {
  LockStoreError,
  OwnerId,
  OwnerRequest,
  ReleaseReply,
  RenewReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
} from '../../port/lock-store.js';
import { zooKeeperFailure } from '../connection/zookeeper-failure.js';
import { clientOf } from '../locks/lock-paths.js';
import type { OwnHold, OwnPlace, OwnPlaces } from '../locks/own-places.js';
import { grantOf, type PlaceData } from '../locks/place-data.js';
import { TOKENS_OF_ONE } from '../locks/tokens.js';
import { holdingData, leaseToWrite } from './place-words.js';
import type { LockNodes } from './lock-nodes.js';
import type { PlaceLifetimes } from './place-lifetimes.js';

/** Renewals in one transaction: enough to spread its cost, and small. */
const LARGEST_RENEWAL = 64;

interface HeldRenewal {
  readonly index: number;
  readonly place: OwnPlace;
  readonly hold: OwnHold;
  readonly lease: number;
  readonly exactly: boolean;
}

/** What is asked about holds and places that there are: renewals, tokens, and their end. */
export class HoldRequests {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnPlaces,
    private readonly lifetimes: PlaceLifetimes,
  ) {}

  async renew(requests: readonly RenewRequest[]): Promise<readonly (RenewReply | LockStoreError)[]> {
    const replies = new Array<RenewReply | LockStoreError | undefined>(requests.length);
    const held: HeldRenewal[] = [];
    const others: Promise<void>[] = [];
    const now = this.nodes.client.now();
    requests.forEach((request, index) => {
      const place = this.own.get(request.owner, request.key);
      const hold = place?.hold;
      if (place !== undefined && hold !== undefined && hold.endsAt > now) {
        const exactly = request.exactly === true;
        held.push({ index, place, hold, lease: leaseToWrite(hold, request.lease, exactly, now), exactly });
        return;
      }
      others.push(
        this.renewUnknown(request, place).then(
          (reply) => void (replies[index] = reply),
          (error: unknown) => void (replies[index] = zooKeeperFailure(error)),
        ),
      );
    });
    for (let first = 0; first < held.length; first += LARGEST_RENEWAL) {
      others.push(this.renewHeld(held.slice(first, first + LARGEST_RENEWAL), replies));
    }
    await Promise.all(others);
    return replies.map((reply) => reply ?? zooKeeperFailure('it was not answered'));
  }

  async reserve({ key, owner, lease, tokens }: ReserveRequest): Promise<ReserveReply> {
    const { nodes, own } = this;
    if (tokens > TOKENS_OF_ONE) throw new RangeError(`no more than ${String(TOKENS_OF_ONE)} tokens at once`);
    const place = own.get(owner, key);
    const hold = place?.hold;
    const now = nodes.client.now();
    if (place === undefined || hold === undefined || hold.endsAt <= now) {
      if (place?.hold !== undefined) await this.lifetimes.leave(place);
      return { outcome: await this.why(key, owner) };
    }
    // What is written is a new lease in any case, since nobody else knows how much of the old one is left.
    const written = leaseToWrite(hold, lease, false, now);
    const [{ stat } = {}, line] = await Promise.all([
      this.lifetimes.write({ place, data: holdingData(nodes, place, hold, written) }),
      nodes.line(key),
    ]);
    if (stat === undefined) return { outcome: await this.lost(place) };
    if (lease > 0) this.lifetimes.prolong(place, hold, written);
    const token = nodes.own.tokens.of(stat.mzxid);
    return { outcome: 'reserved', token, othersWait: line.othersWait(nodes.client.id) };
  }

  /** Ends a hold at once, or whatever else the owner has. */
  async release({ key, owner, inDoubt }: OwnerRequest): Promise<ReleaseReply> {
    const place = this.own.get(owner, key);
    if (place === undefined) {
      // It may be known elsewhere, or a request of it may have left something.
      const isStranger = clientOf(owner) !== this.nodes.client.id;
      if (isStranger) return (await this.releaseOfOther(key, owner)) ? 'released' : 'not-held';
      if (this.own.resolve(owner) || inDoubt) await this.lifetimes.find(key, owner);
      return 'not-held';
    }
    const { hold } = place;
    const isHeld = hold !== undefined && hold.endsAt > this.nodes.client.now();
    if (hold === undefined && !inDoubt) return 'not-held';
    const wasThere = await this.lifetimes.leave(place);
    return isHeld && wasThere ? 'released' : 'not-held';
  }

  /** Has a hold that nobody renews any more say what is left of its lease. */
  async writeRest(place: OwnPlace): Promise<void> {
    const { hold } = place;
    if (hold === undefined) return;
    const now = this.nodes.client.now();
    const left = Math.max(1, Math.ceil(hold.endsAt - now));
    const lease = leaseToWrite(hold, left, true, now);
    await this.nodes.write({ path: place.path, data: holdingData(this.nodes, place, hold, lease, true) });
  }

  async cancel({ key, owner }: OwnerRequest): Promise<void> {
    const place = this.own.get(owner, key);
    if (place !== undefined) await this.lifetimes.leave(place);
    else await this.lifetimes.find(key, owner);
    this.own.resolve(owner);
  }

  private async renewHeld(
    held: readonly HeldRenewal[],
    replies: (RenewReply | LockStoreError | undefined)[],
  ): Promise<void> {
    const writes = held.map(({ place, hold, lease, exactly }) => ({
      place,
      data: hold.isKept && !exactly ? undefined : holdingData(this.nodes, place, hold, lease, exactly),
    }));
    try {
      if ((await this.lifetimes.write(...writes)) !== undefined) {
        for (const { index, place, hold, lease } of held) {
          this.lifetimes.prolong(place, hold, lease);
          replies[index] = 'renewed';
        }
        return;
      }
      const [only] = held;
      if (held.length === 1 && only !== undefined) replies[only.index] = await this.lost(only.place);
      else await Promise.all(held.map((one) => this.renewHeld([one], replies)));
    } catch (error) {
      for (const { index } of held) replies[index] = zooKeeperFailure(error);
    }
  }

  /** A hold that is over, of another client, or of an earlier session. */
  private async renewUnknown(request: RenewRequest, place: OwnPlace | undefined): Promise<RenewReply> {
    const { key, owner } = request;
    if (place?.hold !== undefined) {
      await this.lifetimes.leave(place);
      return await this.why(key, owner);
    }
    if (clientOf(owner) === this.nodes.client.id) return await this.why(key, owner);
    return (await this.renewOfOther(request)) ? 'renewed' : await this.why(key, owner);
  }

  private async renewOfOther({ key, owner, lease, exactly }: RenewRequest): Promise<boolean> {
    const { nodes } = this;
    const line = await nodes.line(key, { isFresh: true });
    const holder = line.holders.find((place) => place.owner === owner);
    if (holder === undefined) return false;
    const path = nodes.pathOf(key, holder.name);
    const read = await nodes.read(path);
    const grant = read && grantOf(read.data, read.stat);
    if (read === undefined || grant === undefined) return false;
    const data: PlaceData = {
      ...read.data,
      state: 'holds',
      lease: exactly === true ? lease : Math.max(lease, read.data.lease),
      isKept: exactly !== true && read.data.isKept,
      token: read.data.token ?? nodes.own.tokens.of(grant.zxid),
      since: read.data.since ?? grant.since,
    };
    return (await nodes.write({ path, data })) !== undefined;
  }

  private async releaseOfOther(key: string, owner: OwnerId): Promise<boolean> {
    const line = await this.nodes.line(key, { isFresh: true });
    const holder = line.holders.find((place) => place.owner === owner);
    return holder !== undefined && (await this.nodes.take(this.nodes.pathOf(key, holder.name)));
  }

  private async lost(place: OwnPlace): Promise<'gone' | 'taken'> {
    this.lifetimes.forget(place);
    return await this.why(place.key, place.owner);
  }

  /** Those who hold shares may hold them beside this owner. */
  private async why(key: string, owner: OwnerId): Promise<'gone' | 'taken'> {
    const line = await this.nodes.line(key, { isFresh: true });
    const [first] = line.holders;
    return first?.limit === 1 && first.owner !== owner ? 'taken' : 'gone';
  }
}
