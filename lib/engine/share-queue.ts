import type { LockStoreError } from '../stores/lock-store.js';
import type { Acquisition } from './acquisition.js';
import { later } from './clock.js';
import { Hearsay } from './hearsay.js';
import type { Hold } from './hold.js';
import { GRACE } from './key-queue.js';
import { Line } from './line.js';
import type { LockEngine } from './lock-engine.js';
import { SharePlace, type SharePlaceOwner } from './share-place.js';
import type { GivenUp, Wait } from './wait.js';

/** Callers of one process in the store's queue of a key at most: enough to fill what gets free, and few who ask again. */
const MOST_PLACES = 64;

/**
 * The callers of this process that wait for shares of one key, and those for all of it that came after them, in order.
 * Several may be granted at once, so each of the first has a place of its own in the store's queue; the others follow as
 * these are served.
 */
export class ShareQueue implements SharePlaceOwner {
  /** Those without a place. */
  private readonly line = new Line<Acquisition>();
  private readonly places = new Map<Acquisition, SharePlace>();
  /** Places without a caller, and those on their way out of the store. */
  private readonly leaving = new Set<SharePlace | Promise<void>>();
  private readonly told = new Hearsay();
  private whenIdle: (() => void)[] = [];

  constructor(
    readonly key: string,
    private readonly engine: LockEngine,
  ) {}

  get waiting(): Iterable<Acquisition> {
    return [...this.places.keys(), ...this.line];
  }

  add(caller: Acquisition): void {
    this.line.join(caller);
    caller.onGivenUp = this.giveUp;
    this.goOn();
    const { engine, told } = this;
    // Behind others of this process, whom the store keeps waiting.
    if (!this.places.has(caller) && engine.hub.observed)
      engine.reports.queued(caller, told.holderLeaseLeft(caller.startedAt));
    caller.begin();
  }

  /** Gives places to those whose turn it is to have one. */
  goOn(): void {
    for (let { first } = this.line; first !== undefined; { first } = this.line) {
      const isBusy = first.limit === 1 || this.someAre('isQueueing');
      // Who finds out whether there is room must not be overtaken meanwhile by who goes to the queue at once.
      if (this.places.size >= MOST_PLACES || (isBusy && this.someAre('isProbing'))) return;
      if (this.engine.queueOf(this.key)?.keepsBack(this) === true) return;
      this.line.leave(first);
      const place = new SharePlace(this.engine, this, first, isBusy);
      this.places.set(first, place);
      place.place.goOn();
    }
    if (this.places.size === 0) this.engine.closeShares(this);
  }

  /** Asks again now. */
  wake(): void {
    for (const { place } of this.places.values()) place.wake();
  }

  closeAll(): void {
    for (const caller of [...this.waiting]) {
      this.dismiss(caller);
      caller.fail(this.engine.reports.closed(this.key));
    }
    this.goOn();
  }

  /** Resolves when no request of this queue is under way any more. */
  async idle(): Promise<void> {
    while (this.leaving.size > 0) {
      await new Promise<void>((resolve) => {
        this.whenIdle.push(resolve);
      });
    }
  }

  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    this.told.heard(this.engine.clock.monotonic(), holderLeaseLeft, stillQueued);
    this.engine.reports.storeAnswered();
  }

  unheard(error: LockStoreError): void {
    this.told.failure = error;
  }

  answered(): void {
    if (this.line.size > 0) this.goOn();
  }

  left(place: SharePlace, caller: Acquisition | undefined, withdrawal: Promise<void> | undefined): void {
    if (caller !== undefined) this.places.delete(caller);
    // One whose caller was refused by the store is still listed.
    for (const [other, known] of this.places) if (known === place) this.places.delete(other);
    this.leaving.delete(place);
    if (withdrawal !== undefined) {
      this.leaving.add(withdrawal);
      void withdrawal.then(() => {
        this.hasLeft(withdrawal);
      });
    }
    this.hasLeft(place);
    this.goOn();
  }

  private someAre(state: 'isQueueing' | 'isProbing'): boolean {
    for (const place of this.places.values()) if (place[state]) return true;
    return false;
  }

  private hasLeft(who: SharePlace | Promise<void>): void {
    this.leaving.delete(who);
    if (this.leaving.size > 0) return;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }

  private dismiss(caller: Acquisition): void {
    this.line.leave(caller);
    const place = this.places.get(caller);
    if (place === undefined) return;
    this.places.delete(caller);
    this.leaving.add(place);
    place.giveUp();
  }

  private readonly giveUp = (wait: Wait<Hold>, why: GivenUp): void => {
    const caller = wait as Acquisition; // only those are added
    const { engine, told } = this;
    const place = this.places.get(caller);
    const firstAnswerOut = place !== undefined && !told.answered && told.failure === undefined;
    if (why === 'timeout' && firstAnswerOut && !caller.prolonged) {
      caller.prolonged = true;
      caller.prolong(later(engine.clock.monotonic(), GRACE));
      return;
    }
    const error = why === 'aborted' ? caller.abortReason : this.timeoutOf(caller, place);
    const stays = place?.place.mayExist === true && !firstAnswerOut;
    caller.stop();
    this.dismiss(caller);
    this.goOn();
    // Nothing shall stay behind in the store when the caller hears of it (B10), within reason.
    if (why === 'timeout' && stays) {
      void engine.waits.within(GRACE, this.idle()).then(() => {
        caller.fail(error);
      });
    } else caller.fail(error);
  };

  /** B11: held by others, or not to be asked. */
  private timeoutOf(caller: Acquisition, place: SharePlace | undefined): Error {
    const { engine, told } = this;
    const now = engine.clock.monotonic();
    const isHeld =
      told.tellsOfHolder(caller.startedAt, place?.place.isSilent === true) ||
      (place === undefined && engine.queueOf(this.key)?.isKnownBusy === true);
    if (isHeld) return engine.reports.timedOut(caller, told.holderLeaseLeft(now));
    return engine.reports.unavailable(this.key, told.failure, now - caller.startedAt);
  }
}
