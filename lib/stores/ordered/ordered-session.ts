import { TimerQueue } from '../../common/timer-queue.js';
import { isNamed, type RenewReplies } from '../port/forwarding-session.js';
import type {
  AcquireReply,
  AcquireRequest,
  BreakReply,
  ListedKeys,
  ListKeysRequest,
  LockBoard,
  LockStoreClient,
  LockStoreSession,
  NamedHold,
  OwnerId,
  OwnerRequest,
  ReleaseReply,
  RenewRequest,
  ReserveReply,
  ReserveRequest,
  StoreConnection,
  StoredHold,
  StoredLock,
  StoredWaiter,
  WallClockMs,
} from '../port/lock-store.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import { PendingReleases } from '../port/turns.js';
import { Acquirer } from './acquirer.js';
import { grantRevision } from './entry-data.js';
import { clientOf, type QueueEntry } from './lock-queue.js';
import { HolderLeases } from './holder-leases.js';
import type { DriverEvents, OrderedDriver } from './ordered-driver.js';
import { OwnEntries, type OwnEntry } from './own-entries.js';

/** How long `inspect` waits for the holder of a pushed grant to write its token, ms. */
const TOKEN_PATIENCE = 100;
const TOKEN_PAUSE = 5;

/** A session of a store that keeps an ordered queue of entries for each lock. */
export class OrderedSession implements LockStoreSession {
  readonly remainingIsBound = true;
  private readonly timers: TimerQueue;
  private readonly driver: OrderedDriver;
  private readonly own: OwnEntries;
  private readonly leases: HolderLeases;
  private readonly acquirer: Acquirer;
  /** Pending releases and withdrawals. */
  private readonly releases = new PendingReleases();
  /** Releases that wait for another request of their owner. */
  private readonly unsent = new PendingReleases();
  /** Owners whose late requests are rejected. */
  private readonly cancelled = new Set<OwnerId>();

  constructor(
    private readonly client: LockStoreClient,
    driverFor: (events: DriverEvents) => OrderedDriver,
  ) {
    this.timers = new TimerQueue({ monotonic: () => client.now() }, false, true);
    const events: DriverEvents = {
      client,
      changed: (path, isGone) => this.acquirer.onChanged(path, isGone),
      broken: (owner) => this.onBroken(owner),
      lost: () => this.own.disconnected(),
      back: () => {
        this.own.reconnected();
        client.reconnected();
      },
      sessionOver: () => this.own.clear(),
      dataLost: () => this.leases.clear(),
    };
    this.driver = driverFor(events);
    const context = { client, timers: this.timers };
    this.own = new OwnEntries(this.driver, context);
    this.leases = new HolderLeases(this.driver, context);
    this.acquirer = new Acquirer(this.driver, this.own, this.leases, context);
  }

  get description(): string | undefined {
    return this.driver.description;
  }

  get board(): LockBoard {
    return this.driver.board;
  }

  get longestUnrenewed(): number | undefined {
    return this.driver.longestUnrenewed;
  }

  whyTooLong(lease: number): string | undefined {
    return this.driver.whyTooLong?.(lease);
  }

  connections(): readonly StoreConnection[] {
    return this.driver.connections();
  }

  start(): Promise<void> {
    return this.driver.start();
  }

  async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const { owner } = request;
    if (this.cancelled.has(owner)) return { outcome: 'cancelled' };
    return await this.own.turns.run(owner, () => this.acquirer.acquire(request));
  }

  async release(request: OwnerRequest): Promise<ReleaseReply> {
    const { key, owner, wasGranted } = request;
    this.rejectLate(request);
    // If this entry left the queue first, another one that is leaving would hold the lock for a moment.
    const earlier = this.releases.of(key);
    const { own } = this;
    const isSent = !own.turns.isBusy(owner);
    let work = own.turns.run(owner, () => own.release(request));
    if (!isSent && wasGranted) work = this.unsent.track(key, work);
    const reply = await this.releases.track(key, work);
    if (earlier !== undefined) await earlier;
    return reply;
  }

  whenSent(key: string): Promise<unknown> | undefined {
    return (this.driver.carriesOutWhatWasSent ? this.unsent : this.releases).of(key);
  }

  renew(requests: readonly RenewRequest[]): Promise<RenewReplies> {
    return this.own.renew(requests);
  }

  reserve(request: ReserveRequest): Promise<ReserveReply> {
    return this.own.reserve(request);
  }

  raiseTokens(floor: number): Promise<void> {
    return this.driver.raiseTokens(floor);
  }

  listKeys(request: ListKeysRequest): Promise<ListedKeys> {
    return this.driver.listKeys(request);
  }

  verify(): Promise<void> {
    return this.driver.verify();
  }

  async inspect(key: string): Promise<StoredLock | null> {
    const until = this.client.now() + TOKEN_PATIENCE;
    for (;;) {
      const { entries, holders, waiters } = await this.driver.queue(key, { isFresh: true });
      const [first] = entries;
      if (first === undefined) return null;
      const [holds, queued] = await Promise.all([
        Promise.all(holders.map((holder) => this.storedHold(key, holder))),
        Promise.all(waiters.map((waiter) => this.storedWaiter(key, waiter))),
      ]);
      const known = holds.flatMap((hold) => hold ?? []);
      // A holder that left meanwhile made room for waiters.
      if (known.length < holds.length) continue;
      if (known.every(({ token }) => token !== undefined) || this.client.now() >= until)
        return { limit: first.limit, holders: known, waiters: queued.flatMap((waiter) => waiter ?? []) };
      // Ends early if the session closes; the next read then fails.
      await this.timers.within(TOKEN_PAUSE, new Promise(() => undefined));
    }
  }

  async breakHold(key: string, hold?: NamedHold): Promise<BreakReply> {
    if (hold === undefined) {
      const { holders } = await this.driver.queue(key, { isFresh: true });
      const broken = await Promise.all(holders.map((holder) => this.breakEntry(key, holder)));
      return broken.includes(true) ? 'broken' : 'free';
    }
    for (;;) {
      const { entries, holders } = await this.driver.queue(key, { isFresh: true });
      const owned = holders.filter(({ owner }) => hold.owner === undefined || hold.owner === owner);
      const stored = await Promise.all(owned.map((holder) => this.storedHold(key, holder)));
      // A holder that left meanwhile made room for waiters.
      if (stored.includes(undefined)) continue;
      const named = owned[stored.findIndex((each) => each !== undefined && isNamed(each, hold))];
      if (named === undefined) return entries.length === 0 ? 'free' : 'held-by-others';
      if (await this.breakEntry(key, named)) return 'broken';
    }
  }

  async close(): Promise<void> {
    this.timers.close();
    const now = this.client.now();
    const all = this.own.all.map((entry) => ({ entry, hold: entry.hold }));
    const isHeld = (hold: OwnEntry['hold']): boolean => hold !== undefined && hold.endsAt > now;
    const endsSession = !all.some(({ hold }) => isHeld(hold));
    // Otherwise the session is left to end with them, so everything else is deleted now. The rest of each lease is
    // written: callers that come later would otherwise wait for all of it.
    if (!endsSession) {
      await Promise.allSettled(
        all.map(({ entry, hold }) =>
          hold !== undefined && isHeld(hold) ? this.own.leaveToExpire(entry, hold) : this.own.remove(entry),
        ),
      );
    }
    await this.driver.close(endsSession);
  }

  /** Undefined if it is gone. */
  private async storedHold(key: string, holder: QueueEntry): Promise<StoredHold | undefined> {
    const { path, owner, permits } = holder;
    const entry = this.own.get(owner as OwnerId);
    const hold = entry?.path === path ? entry.hold : undefined;
    if (entry !== undefined && hold !== undefined && hold.endsAt <= this.client.now()) {
      await this.own.remove(entry);
      return undefined;
    }
    const read = holder.content?.() ?? (await this.driver.read(key, path));
    if (read === undefined) return undefined;
    const { data } = read;
    const revision = grantRevision(read);
    return {
      owner,
      token:
        data.token ??
        (revision === undefined ? hold?.token : this.driver.tokenOf(revision) + (data.offset ?? 0)),
      since: (data.since as WallClockMs | undefined) ?? hold?.since,
      leaseLeft: this.leases.see(key, path, read),
      permits,
      label: data.label,
    };
  }

  private async storedWaiter(key: string, entry: QueueEntry): Promise<StoredWaiter | undefined> {
    const { owner, limit, permits } = entry;
    const read = entry.content?.() ?? (await this.driver.read(key, entry.path));
    return read && { owner, limit, permits, callers: read.data.callers, label: read.data.label };
  }

  /** Deletes the entry of a holder and notifies its client. False if it is gone. */
  private async breakEntry(key: string, { path, owner }: QueueEntry): Promise<boolean> {
    if (!(await this.driver.remove(key, path))) return false;
    const entry = this.own.get(owner as OwnerId);
    if (clientOf(owner) !== this.client.id) this.driver.tellBroken(key, owner);
    else if (entry?.path === path) this.lose(entry);
    return true;
  }

  /** The notice may concern an earlier entry of the owner. */
  private onBroken(owner: OwnerId | undefined): void {
    const concerned = this.own.all.filter((entry) => owner === undefined || entry.request.owner === owner);
    for (const entry of concerned) {
      if (entry.hold === undefined) continue;
      this.driver.read(entry.request.key, entry.path).then(
        (read) => {
          if (read === undefined) this.lose(entry);
        },
        () => undefined,
      );
    }
  }

  private lose(entry: OwnEntry): void {
    const { owner } = entry.request;
    if (this.own.get(owner) !== entry || entry.hold === undefined) return;
    this.own.forget(entry);
    this.client.broken(owner);
  }

  private rejectLate({ owner, inDoubt }: OwnerRequest): void {
    if (!inDoubt || this.cancelled.has(owner)) return;
    this.cancelled.add(owner);
    this.timers.after(TOMBSTONE_TTL, () => this.cancelled.delete(owner));
  }
}
