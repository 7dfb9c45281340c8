import type { CallbackTimer } from '../../../common/timer-queue.js';
import type { MonotonicMs } from '../../port/lock-store.js';
import type { KeyValue } from '../protocol/replies.js';
import { holdersIn, type Entry } from './entry.js';
import type { LockRange } from './key-names.js';
import type { LockContext } from './lock-context.js';
import type { LockReader, LockState } from './lock-reader.js';
import { isRefused, type OwnEntries } from './own-entries.js';
import type { OwnEntry } from './own-entry.js';
import type { WatchListener } from './watches.js';

/** How long a lock is watched after the last owner has waited for it, ms. */
const KEEP_WATCHING = 2_000;
/** Deletions that are remembered for answers that are under way. */
const MOST_DELETIONS = 256;
/** Those who wait don't all end the same lease at once, ms. */
const SPREAD = 15;

/** A lock for which owners of this session wait: hears of entries that are deleted, and pushes grants. */
export class WaitedLock implements WatchListener {
  readonly of = 'deletions';
  readonly start: string;
  readonly end: string;

  private readonly waiters = new Set<OwnEntry>();
  /** As far as is known; those behind the session's own may be missing. */
  private entries: readonly Entry[] = [];
  private revision = 0;
  /** That of the last deletion that was heard of. */
  private toldRevision = 0;
  private readonly deleted = new Map<string, number>();
  private looks: 'not' | 'now' | 'again' = 'not';
  private readonly unwatch: () => void;
  private idle: CallbackTimer | undefined;
  private expiry: CallbackTimer | undefined;

  constructor(
    private readonly lock: LockRange,
    private readonly context: LockContext,
    private readonly reader: LockReader,
    private readonly ownEntries: OwnEntries,
    private readonly onIdle: () => void,
  ) {
    this.start = lock.start;
    this.end = lock.end;
    this.unwatch = context.watches.watch(this);
    this.restLater();
  }

  /** An owner waits by what was found. */
  stand(waiter: OwnEntry, state: LockState): void {
    this.waiters.add(waiter);
    this.clear('idle');
    this.found(state);
    // Those before it may be gone by now: deletions are told on a way of their own, and may have been quicker.
    if (holdersIn(this.entries).some(({ name }) => name === waiter.name)) this.look();
  }

  /** etcd has lost its data, or is what it was some time ago: what was seen since says nothing. */
  forgetSeen(): void {
    this.entries = [];
    this.revision = this.toldRevision = 0;
    this.deleted.clear();
  }

  remove(waiter: OwnEntry): void {
    if (this.waiters.delete(waiter) && this.waiters.size === 0) this.restLater();
  }

  close(): void {
    this.clear('idle');
    this.clear('expiry');
    this.unwatch();
    this.onIdle();
  }

  /** What was found by asking etcd, and not only the member that is connected. */
  found(state: LockState): void {
    // It is answered in the order of the revisions; what is not so says nothing about who holds the lock.
    if (state.revision < this.revision) return;
    this.see(state);
    // Not by what is known meanwhile: as of that answer it did not hold the lock.
    const holders = new Set<string>(holdersIn(state.entries).map(({ name }) => name));
    for (const waiter of this.waiters) if (!holders.has(waiter.name)) waiter.waitedAt = state.sentAt;
  }

  watched(revision: number): void {
    // etcd tells what comes after that revision. What is known may be from before it, or from within its transaction, which
    // can hold a place and, after it, the release in front of that place.
    if (revision >= this.revision) this.look();
  }

  changed(events: readonly KeyValue[]): void {
    for (const { key, modified } of events) {
      this.deleted.delete(key);
      this.deleted.set(key, modified);
      this.toldRevision = Math.max(this.toldRevision, modified);
    }
    for (const name of this.deleted.keys()) {
      if (this.deleted.size <= MOST_DELETIONS) break;
      this.deleted.delete(name);
    }
    this.entries = this.living(this.entries);
    const holders = holdersIn(this.entries);
    const names = new Set<string>(holders.map(({ name }) => name));
    for (const waiter of this.waiters) {
      if (!names.has(waiter.name)) continue;
      this.look();
      break;
    }
    // Whoever comes next may be gone.
    this.context.observations.promoted(this.lock.key, holders);
    this.endLeasesInTime();
  }

  private see(state: LockState): void {
    this.revision = state.revision;
    this.entries = this.living(state.entries);
    this.endLeasesInTime();
  }

  /** Without those whose deletion was heard of. */
  private living(entries: readonly Entry[]): readonly Entry[] {
    return entries.filter((entry) => !this.isDeleted(entry));
  }

  private isDeleted({ name, modified }: Entry): boolean {
    return (this.deleted.get(name) ?? 0) > modified;
  }

  /** Looks whether an owner of this session holds the lock by now. */
  look(): void {
    if (this.looks !== 'not') {
      this.looks = 'again';
      return;
    }
    this.looks = 'now';
    const work = async (): Promise<void> => {
      this.looks = 'now';
      if (this.waiters.size === 0) return;
      const { known } = this;
      const state = await this.reader.read(this.lock, true);
      // etcd tells of a change a moment before a member shows it to those who don't ask for the latest.
      const isOld = state.revision < known;
      await this.pushGrants(isOld ? await this.reader.read(this.lock) : state, known);
    };
    const done = (): void => {
      const again = this.looks === 'again';
      this.looks = 'not';
      if (again) this.look();
    };
    // What could not be asked is found by the next poll.
    this.context.turns.run(this.lock.key, work).then(done, done);
  }

  /** The last revision of which this lock has heard. */
  private get known(): number {
    return Math.max(this.toldRevision, this.revision);
  }

  /** @param known the last revision that was known when the state was asked for */
  private async pushGrants(state: LockState, known: number): Promise<void> {
    // An answer from before that, such as a proxy's, may show an owner at the head who has lost its place since.
    if (state.revision < known) return;
    this.see(state);
    if (state.isWithoutBase === true) {
      await this.context.base.found();
      this.look();
      return;
    }
    const byName = new Map([...this.waiters].map((waiter) => [waiter.name, waiter]));
    const { entries } = state;
    for (const entry of holdersIn(entries)) {
      const waiter = byName.get(entry.name);
      // The same owner may have had another place before; what was deleted since is no place any more.
      if (waiter?.created !== entry.created || this.isDeleted(entry)) continue;
      const othersWait = this.reader.othersWait(entries);
      try {
        const startedAt = await this.grant(waiter, state);
        if (startedAt === undefined) continue;
        this.remove(waiter);
        const { owner, claimLease: lease, tokens } = waiter;
        const grant = this.ownEntries.grantOf(waiter, tokens, othersWait);
        this.context.client.granted(owner, { ...grant, startedAt, lease, turnFrom: state.sentAt });
      } catch {
        // It asks again by itself.
      }
    }
  }

  /** Answers when its lease began at the earliest; undefined if it was not to be had after all. */
  private async grant(waiter: OwnEntry, { revision }: LockState): Promise<MonotonicMs | undefined> {
    const { client } = this.context;
    const { waitedAt, claimLease, limit } = waiter;
    // Revisions are for one holder at a time; shares need one each.
    if (limit === 1 && waitedAt !== undefined && client.now() - waitedAt < claimLease / 2) {
      this.ownEntries.holdUnwritten(waiter, revision);
      return waitedAt;
    }
    waiter.since = Date.now() as typeof waiter.since;
    waiter.isUnclaimed = true;
    const written = await this.ownEntries.write(waiter, { lease: claimLease, exactly: true });
    if (isRefused(written)) {
      this.remove(waiter);
      return undefined;
    }
    waiter.isUnclaimed = true;
    this.ownEntries.granted(waiter, written.revision, claimLease);
    return written.sentAt;
  }

  /** A lease that nobody renews is ended by those who wait. */
  private endLeasesInTime(): void {
    this.clear('expiry');
    const { client, timers } = this.context;
    const ends = holdersIn(this.entries).map((entry) => this.reader.overAt(entry));
    const soonest = Math.min(...ends);
    if (soonest === Infinity) return;
    const delay = Math.max(0, soonest - client.now()) + Math.random() * SPREAD;
    this.expiry = timers.timers.after(delay, () => {
      this.expiry = undefined;
      this.endLeases();
    });
  }

  private endLeases(): void {
    const work = async (): Promise<void> => {
      const { known } = this;
      const state = await this.reader.readLiving(this.lock);
      this.found(state);
      await this.pushGrants(state, known);
    };
    if (this.waiters.size === 0) return;
    this.context.turns.run(this.lock.key, work).catch(() => {
      const { timers } = this.context;
      this.clear('expiry');
      this.expiry = timers.timers.after(SPREAD * 10, () => {
        this.endLeases();
      });
    });
  }

  private restLater(): void {
    this.clear('idle');
    this.idle = this.context.timers.timers.after(KEEP_WATCHING, () => {
      this.close();
    });
  }

  private clear(timer: 'idle' | 'expiry'): void {
    const set = this[timer];
    if (set !== undefined) this.context.timers.timers.clear(set);
    this[timer] = undefined;
  }
}
