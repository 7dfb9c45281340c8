import { Glob } from '../../../common/glob.js';
import { isNamed } from '../../port/forwarding-session.js';
import type {
  BreakReply,
  ListedKeys,
  ListKeysRequest,
  NamedHold,
  OwnerId,
  StoredHold,
  StoredLock,
  StoredWaiter,
  WallClockMs,
} from '../../port/lock-store.js';
import { checkCursor } from '../../port/store-failure.js';
import { setData } from '../connection/operations.js';
import type { Line, Place } from '../locks/line.js';
import { clientOf, decoded, isEncodedKey } from '../locks/lock-paths.js';
import type { OwnPlaces } from '../locks/own-places.js';
import { grantOf } from '../locks/place-data.js';
import type { Holders } from './holders.js';
import type { LockNodes } from './lock-nodes.js';
import type { PlaceLifetimes } from './place-lifetimes.js';

/** Tells who holds a lock, and breaks locks. */
export class LockInspection {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnPlaces,
    private readonly lifetimes: PlaceLifetimes,
    private readonly holders: Holders,
  ) {}

  async inspect(key: string): Promise<StoredLock | null> {
    for (;;) {
      const line = await this.nodes.line(key, { isFresh: true });
      const [first] = line.places;
      if (first === undefined) return null;
      const [holders, waiters] = await Promise.all([
        Promise.all(line.holders.map((holder) => this.storedHold(key, holder))),
        Promise.all(line.waiters.map((waiter) => this.storedWaiter(key, waiter))),
      ]);
      // Who has gone meanwhile makes room for others.
      const known = holders.flatMap((holder) => holder ?? []);
      if (known.length < holders.length) continue;
      return { limit: first.limit, holders: known, waiters: waiters.flatMap((waiter) => waiter ?? []) };
    }
  }

  async forceRelease(key: string): Promise<boolean> {
    const line: Line = await this.nodes.line(key, { isFresh: true });
    const broken = await Promise.all(line.holders.map((holder) => this.breakOne(key, holder)));
    return broken.includes(true);
  }

  /** Breaks one hold: its node, of which there is never another one with that name. */
  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    for (;;) {
      const line = await this.nodes.line(key, { isFresh: true });
      const holders = line.holders.filter(({ owner }) => hold.owner === undefined || hold.owner === owner);
      const stored = await Promise.all(holders.map((holder) => this.storedHold(key, holder)));
      // Who has gone meanwhile makes room for others.
      if (stored.includes(undefined)) continue;
      const named = holders.find((_, index) => {
        const read = stored[index];
        return read !== undefined && isNamed(read, hold);
      });
      if (named === undefined) return line.places.length === 0 ? 'free' : 'held-by-others';
      if (await this.breakOne(key, named)) return 'broken';
    }
  }

  /** False if it is not there any more. */
  private async breakOne(key: string, { name, owner }: Place): Promise<boolean> {
    const { nodes } = this;
    if (!(await nodes.take(nodes.pathOf(key, name)))) return false;
    // Whoever is not there any more needs not be told.
    nodes.request(setData(nodes.paths.mailboxOf(clientOf(owner)), Buffer.from(owner))).catch(() => undefined);
    return true;
  }

  /** Those that have a node, in the order of their names: of some, the last place has gone a moment ago. */
  async listKeys({ match, cursor = '', count }: ListKeysRequest): Promise<ListedKeys> {
    checkCursor(cursor === '' || isEncodedKey(cursor));
    const all = await this.nodes.names();
    const names = all.filter((name) => name > cursor && isEncodedKey(name)).sort();
    const some = names.slice(0, count);
    const glob = new Glob(match);
    const keys = some.map(decoded).filter((key) => glob.matches(key));
    return { keys, cursor: some.length < names.length ? some.at(-1) : undefined };
  }

  /** Undefined if it is gone. */
  private async storedHold(key: string, { name, owner }: Place): Promise<StoredHold | undefined> {
    const { nodes } = this;
    const path = nodes.pathOf(key, name);
    const mine = this.own.get(owner as OwnerId, key);
    if (mine?.path === path && mine.hold !== undefined && mine.hold.endsAt <= nodes.client.now()) {
      await this.lifetimes.leave(mine);
      return undefined;
    }
    const read = await nodes.read(path);
    if (read === undefined) return undefined;
    const { data, stat } = read;
    const grant = grantOf(data, stat);
    return {
      owner,
      token: data.token ?? (grant && nodes.own.tokens.of(grant.zxid)),
      since: (data.since ?? grant?.since) as WallClockMs | undefined,
      leaseLeft: this.holders.saw(path, read),
      label: data.label,
    };
  }

  private async storedWaiter(key: string, { name, owner, limit }: Place): Promise<StoredWaiter | undefined> {
    const read = await this.nodes.read(this.nodes.pathOf(key, name));
    return read && { owner, limit, callers: read.data.callers, label: read.data.label };
  }
}
