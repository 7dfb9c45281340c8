import { TimerQueue } from '../../common/timer-queue.js';
import { isNamed } from '../port/forwarding-session.js';
import type {
  LockStoreClient,
  LockStoreSession,
  OwnerId,
  OwnerRequest,
  StoredHold,
  StoredWaiter,
  WallClockMs,
} from '../port/lock-store.js';
import { TOMBSTONE_TTL } from '../port/times.js';
import { PendingWork } from '../port/turns.js';
import { Acquirer } from './acquirer.js';
import { grantRevision } from './entry-data.js';
import { clientOf, type QueueEntry } from './lock-queue.js';
import { HolderLeases } from './holder-leases.js';
import type { DriverEvents, OrderedDriver } from './ordered-driver.js';
import { OwnEntries, type OwnEntry } from './own-entries.js';

/** How long `inspect` waits for the holder of a pushed grant to write its token, ms. */
const TOKEN_PATIENCE = 100;
const TOKEN_PAUSE = 5;

/** The explorer compares states by these parts, and tests read them. */
interface OrderedSession extends LockStoreSession {
  readonly driver: OrderedDriver;
  readonly own: OwnEntries;
  readonly leases: HolderLeases;
  /** Owners whose late requests are rejected. */
  readonly cancelled: ReadonlySet<OwnerId>;
}

/** Opens a session of a store that keeps an ordered queue of entries for each lock. */
export function openOrdered(
  client: LockStoreClient,
  driverFor: (events: DriverEvents) => OrderedDriver,
): OrderedSession {
  const timers = new TimerQueue({ monotonic: () => client.now() }, false, true);
  const driver = driverFor({
    client,
    changed: (path, isGone) => acquirer.onChanged(path, isGone),
    broken: onBroken,
    lost: () => own.disconnected(),
    back: () => {
      own.reconnected();
      client.reconnected();
    },
    sessionOver: () => own.clear(),
    dataLost: () => leases.clear(),
  });
  const context = { client, timers };
  const own = new OwnEntries(driver, context);
  const leases = new HolderLeases(driver, context);
  const acquirer = new Acquirer(driver, own, leases, context);
  /** Pending releases and withdrawals. */
  const releases = new PendingWork();
  /** Releases that wait for another request of their owner. */
  const unsent = new PendingWork();
  const cancelled = new Set<OwnerId>();

  /** The notice may concern an earlier entry of the owner. */
  function onBroken(owner: OwnerId | undefined): void {
    const concerned = own.all.filter((entry) => owner === undefined || entry.request.owner === owner);
    for (const entry of concerned) {
      if (entry.hold === undefined) continue;
      driver.read(entry.request.key, entry.path).then(
        (read) => {
          if (read === undefined) lose(entry);
        },
        () => undefined,
      );
    }
  }

  function lose(entry: OwnEntry): void {
    const { owner } = entry.request;
    if (own.get(owner) !== entry || entry.hold === undefined) return;
    own.forget(entry);
    client.broken(owner);
  }

  function rejectLate({ owner, inDoubt }: OwnerRequest): void {
    if (!inDoubt || cancelled.has(owner)) return;
    cancelled.add(owner);
    timers.after(TOMBSTONE_TTL, () => cancelled.delete(owner));
  }

  /** Undefined if it is gone. */
  async function storedHold(key: string, holder: QueueEntry): Promise<StoredHold | undefined> {
    const { path, owner, permits } = holder;
    const entry = own.get(owner as OwnerId);
    const hold = entry?.path === path ? entry.hold : undefined;
    if (entry !== undefined && hold !== undefined && hold.endsAt <= client.now()) {
      await own.remove(entry);
      return undefined;
    }
    const read = holder.content?.() ?? (await driver.read(key, path));
    if (read === undefined) return undefined;
    const { token, offset = 0, since, label } = read.data;
    const revision = grantRevision(read);
    return {
      owner,
      token: token ?? (revision === undefined ? hold?.token : driver.tokenOf(revision) + offset),
      since: (since as WallClockMs | undefined) ?? hold?.since,
      leaseLeft: leases.see(key, path, read),
      permits,
      label,
    };
  }

  async function storedWaiter(key: string, entry: QueueEntry): Promise<StoredWaiter | undefined> {
    const { owner, limit, permits } = entry;
    const read = entry.content?.() ?? (await driver.read(key, entry.path));
    return read && { owner, limit, permits, callers: read.data.callers, label: read.data.label };
  }

  /** Deletes the entry of a holder and notifies its client. False if it is gone. */
  async function breakEntry(key: string, { path, owner }: QueueEntry): Promise<boolean> {
    if (!(await driver.remove(key, path))) return false;
    const entry = own.get(owner as OwnerId);
    if (clientOf(owner) !== client.id) driver.tellBroken(key, owner);
    else if (entry?.path === path) lose(entry);
    return true;
  }

  return {
    ...{ driver, own, leases, cancelled },
    remainingIsBound: true,
    board: driver.board,
    get description() {
      return driver.description;
    },
    get longestUnrenewed() {
      return driver.longestUnrenewed;
    },
    whyTooLong: (lease) => driver.whyTooLong?.(lease),
    connections: () => driver.connections(),
    start: () => driver.start(),
    acquire: async (request) => {
      const { owner } = request;
      if (cancelled.has(owner)) return { outcome: 'cancelled' };
      return await own.turns.run(owner, () => acquirer.acquire(request));
    },
    release: async (request) => {
      const { key, owner, wasGranted } = request;
      rejectLate(request);
      // If this entry left the queue first, another one that is leaving would hold the lock for a moment.
      const earlier = releases.of(key);
      const isSent = !own.turns.isBusy(owner);
      let work = own.turns.run(owner, () => own.release(request));
      if (!isSent && wasGranted) work = unsent.track(key, work);
      const reply = await releases.track(key, work);
      if (earlier !== undefined) await earlier;
      return reply;
    },
    whenSent: (key) => (driver.carriesOutWhatWasSent ? unsent : releases).of(key),
    renew: (requests) => own.renew(requests),
    reserve: (request) => own.reserve(request),
    raiseTokens: (floor) => driver.raiseTokens(floor),
    listKeys: (request) => driver.listKeys(request),
    verify: () => driver.verify(),
    inspect: async (key) => {
      const until = client.now() + TOKEN_PATIENCE;
      for (;;) {
        const { entries, holders, waiters } = await driver.queue(key, { isFresh: true });
        const [first] = entries;
        if (first === undefined) return null;
        const [holds, queued] = await Promise.all([
          Promise.all(holders.map((holder) => storedHold(key, holder))),
          Promise.all(waiters.map((waiter) => storedWaiter(key, waiter))),
        ]);
        const known = holds.flatMap((hold) => hold ?? []);
        // A holder that left meanwhile made room for waiters.
        if (known.length < holds.length) continue;
        if (known.every(({ token }) => token !== undefined) || client.now() >= until)
          return { limit: first.limit, holders: known, waiters: queued.flatMap((waiter) => waiter ?? []) };
        // Ends early if the session closes; the next read then fails.
        await timers.within(TOKEN_PAUSE, new Promise(() => undefined));
      }
    },
    breakHold: async (key, hold) => {
      if (hold === undefined) {
        const { holders } = await driver.queue(key, { isFresh: true });
        const broken = await Promise.all(holders.map((holder) => breakEntry(key, holder)));
        return broken.includes(true) ? 'broken' : 'free';
      }
      for (;;) {
        const { entries, holders } = await driver.queue(key, { isFresh: true });
        const owned = holders.filter(({ owner }) => hold.owner === undefined || hold.owner === owner);
        const stored = await Promise.all(owned.map((holder) => storedHold(key, holder)));
        // A holder that left meanwhile made room for waiters.
        if (stored.includes(undefined)) continue;
        const named = owned[stored.findIndex((each) => each !== undefined && isNamed(each, hold))];
        if (named === undefined) return entries.length === 0 ? 'free' : 'held-by-others';
        if (await breakEntry(key, named)) return 'broken';
      }
    },
    close: async () => {
      timers.close();
      const now = client.now();
      const all = own.all.map((entry) => ({ entry, hold: entry.hold }));
      const isHeld = (hold: OwnEntry['hold']): boolean => hold !== undefined && hold.endsAt > now;
      const endsSession = !all.some(({ hold }) => isHeld(hold));
      // Otherwise the session is left to end with them, so everything else is deleted now. The rest of each lease is
      // written: callers that come later would otherwise wait for all of it.
      if (!endsSession) {
        await Promise.allSettled(
          all.map(({ entry, hold }) =>
            hold !== undefined && isHeld(hold) ? own.leaveToExpire(entry, hold) : own.remove(entry),
          ),
        );
      }
      await driver.close(endsSession);
    },
  };
}
