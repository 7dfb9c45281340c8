import { Glob } from '../../../common/glob.js';
import { clientOf } from '../../ordered/lock-queue.js';
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
import { setData } from '../connection/protocol.js';
import { decoded, grantIn, isEncodedKey, type QueueEntry } from './layout.js';
import type { LockNodes } from './lock-nodes.js';
import type { OwnEntries } from './own-entries.js';

/** Reports who holds a lock and who waits for it, and breaks locks. */
export class LockInspection {
  constructor(
    private readonly nodes: LockNodes,
    private readonly own: OwnEntries,
  ) {}

  async inspect(key: string): Promise<StoredLock | null> {
    for (;;) {
      const queue = await this.nodes.queue(key, { isFresh: true });
      const [first] = queue.entries;
      if (first === undefined) return null;
      const [holders, waiters] = await Promise.all([
        Promise.all(queue.holders.map((holder) => this.storedHold(holder))),
        Promise.all(queue.waiters.map((waiter) => this.storedWaiter(waiter))),
      ]);
      // A holder that has left meanwhile made room for waiters.
      const known = holders.flatMap((holder) => holder ?? []);
      if (known.length < holders.length) continue;
      return { limit: first.limit, holders: known, waiters: waiters.flatMap((waiter) => waiter ?? []) };
    }
  }

  async forceRelease(key: string): Promise<boolean> {
    const queue = await this.nodes.queue(key, { isFresh: true });
    const broken = await Promise.all(queue.holders.map((holder) => this.breakOne(holder)));
    return broken.includes(true);
  }

  /** Breaks one hold: its node, whose name is used only once. */
  async breakHold(key: string, hold: NamedHold): Promise<BreakReply> {
    for (;;) {
      const queue = await this.nodes.queue(key, { isFresh: true });
      const holders = queue.holders.filter(({ owner }) => hold.owner === undefined || hold.owner === owner);
      const stored = await Promise.all(holders.map((holder) => this.storedHold(holder)));
      // A holder that has left meanwhile made room for waiters.
      if (stored.includes(undefined)) continue;
      const named = holders.find((_, index) => {
        const read = stored[index];
        return read !== undefined && isNamed(read, hold);
      });
      if (named === undefined) return queue.entries.length === 0 ? 'free' : 'held-by-others';
      if (await this.breakOne(named)) return 'broken';
    }
  }

  /** Lists the locks that have a node, by name: some may have become free a moment ago. */
  async listKeys({ match, cursor = '', count }: ListKeysRequest): Promise<ListedKeys> {
    checkCursor(cursor === '' || isEncodedKey(cursor));
    const all = await this.nodes.namesOfLocks();
    const names = all.filter((name) => name > cursor && isEncodedKey(name)).sort();
    const some = names.slice(0, count);
    const glob = new Glob(match);
    const keys = some.map(decoded).filter((key) => glob.matches(key));
    return { keys, cursor: some.length < names.length ? some.at(-1) : undefined };
  }

  /** Deletes the entry of a holder and notifies its client; false if it is gone. */
  private async breakOne({ path, owner }: QueueEntry): Promise<boolean> {
    const { nodes } = this;
    if (!(await nodes.removeOfAny(path))) return false;
    // Fails if the client has gone.
    const notice = setData(nodes.paths.breakNoticeOf(clientOf(owner)), Buffer.from(owner));
    nodes.request(notice).catch(() => undefined);
    return true;
  }

  /** Undefined if it is gone. */
  private async storedHold({ path, owner }: QueueEntry): Promise<StoredHold | undefined> {
    const { nodes } = this;
    const known = this.own.get(owner as OwnerId);
    if (known?.path === path && known.hold !== undefined && known.hold.endsAt <= nodes.client.now()) {
      await this.own.remove(known);
      return undefined;
    }
    const read = await nodes.read(path);
    if (read === undefined) return undefined;
    const { data, stat } = read;
    const grant = grantIn(data, stat);
    return {
      owner,
      token: data.token ?? (grant && nodes.clientNodes.tokenOf(grant.zxid)),
      since: (data.since ?? grant?.since) as WallClockMs | undefined,
      leaseLeft: nodes.observe(path, read),
      label: data.label,
    };
  }

  /** Undefined if it is gone. */
  private async storedWaiter({ path, owner, limit }: QueueEntry): Promise<StoredWaiter | undefined> {
    const read = await this.nodes.read(path);
    return read && { owner, limit, callers: read.data.callers, label: read.data.label };
  }
}
