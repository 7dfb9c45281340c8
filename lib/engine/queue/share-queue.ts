import type { LockStoreError, MonotonicMs } from '../../stores/port/lock-store.js';
import type { Waiter } from './waiter.js';
import { CallbackTimer } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';
import { endOfWait } from './end-of-wait.js';
import { QueueStatus } from './queue-status.js';
import type { Hold } from '../hold/hold.js';
import { ANSWER_GRACE } from '../time/time-limits.js';
import type { Lease } from '../lease/lease.js';
import { LinkedQueue } from '../../common/linked-queue.js';
import type { EngineContext } from '../context.js';
import type { QueueRegistry } from './queue-registry.js';
import { handOver } from './hand-over.js';
import type { Grant, QueueTicket } from './queue-place.js';
import { SharePlace, type SharePlaceOwner } from './share-place.js';
import { ShareTurns } from './share-turns.js';
import type { GivenUp, Wait } from '../time/wait.js';

/** Callers of one process in the store's queue of a key at most: enough to fill what gets free, and few who ask again. */
const MOST_PLACES = 64;

/**
 * The callers of this process that wait for shares of one key, and those for all of it that came after them, in order.
 * Several may be granted at once, so each of the first has a place of its own in the store's queue; the others follow as
 * these are served. A share of a semaphore passes to the next of them without the store where that may be (P20).
 */
export class ShareQueue implements SharePlaceOwner {
  /** Those without a place. */
  private readonly line = new LinkedQueue<Waiter>();
  /** Those with one, in order. */
  private readonly places: SharePlace[] = [];
  /** Places without a caller, and what is on its way out of the store. */
  private readonly leaving = new Set<SharePlace | Promise<unknown>>();
  private readonly told = new QueueStatus();
  private readonly turns: ShareTurns;
  private whenIdle: (() => void)[] = [];
  /** After some gave up: the next ones have come and may give up with them, and get no places before that. */
  private readonly pause = new CallbackTimer(() => {
    this.goOn();
  });

  constructor(
    readonly key: string,
    private readonly engine: EngineContext,
    private readonly queues: QueueRegistry,
  ) {
    this.turns = new ShareTurns(engine, this);
  }

  get waiting(): Iterable<Waiter> {
    return [...this.places.flatMap(({ head }) => head ?? []), ...this.line];
  }

  get first(): Waiter | undefined {
    for (const { head } of this.places) if (head !== undefined) return head;
    return this.line.first;
  }

  get size(): number {
    return this.places.length + this.line.size;
  }

  add(caller: Waiter): void {
    this.line.join(caller);
    caller.onGivenUp = this.giveUp;
    this.goOn();
    // Behind others of this process, whom the store keeps waiting.
    const { engine, told } = this;
    if (this.line.size > 0 && engine.hub.observed) {
      engine.reporter.queued(caller, told.holderLeaseLeft(caller.startedAt));
    }
    caller.begin();
  }

  /** Gives places to those whose turn it is to have one. */
  goOn(): void {
    if (this.pause.heapIndex === -1) this.openPlaces();
    this.closeIfUnused();
  }

  private openPlaces(): void {
    for (let { first } = this.line; first !== undefined; { first } = this.line) {
      const isBusy = first.limit === 1 || this.places.some(({ isQueueing }) => isQueueing);
      // Who finds out whether there is room must not be overtaken meanwhile by who goes to the queue at once.
      if (isBusy && this.places.some(({ isProbing }) => isProbing)) return;
      if (this.places.length >= MOST_PLACES || this.hasPlacesFor(first)) return;
      if (this.queues.queueOf(this.key)?.keepsBack(this) === true) return;
      this.line.leave(first);
      const place = new SharePlace(this.engine, this.queues, this, first, isBusy);
      this.places.push(place);
      place.place.goOn();
    }
  }

  /** It is known for as long as anything of it may be in the store, so that shutdown waits for that. */
  private closeIfUnused(): void {
    if (this.line.size === 0 && this.pause.heapIndex !== -1) this.engine.timers.clear(this.pause);
    if (this.size === 0 && this.turns.size === 0 && this.leaving.size === 0) this.queues.closeShares(this);
  }

  /** Asks again now. */
  wake(): void {
    for (const { place } of this.places) place.wake();
  }

  /** Ends waits, since the application shuts down. */
  refuse(which: (caller: Waiter) => boolean): void {
    const callers = [...this.waiting].filter(which);
    // From the back, so that nobody inherits a place who is refused as well.
    for (const caller of [...callers].reverse()) this.dismiss(caller);
    for (const caller of callers) caller.fail(this.engine.reporter.closed(this.key));
    this.endRests();
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

  skipOverdue(now: MonotonicMs): void {
    for (let late = this.first; late?.isOverdue(now) === true; late = this.first) late.fire();
  }

  served(caller: Waiter): void {
    this.dismiss(caller);
    caller.stop();
  }

  shareEnded(): void {
    this.goOn();
  }

  heard(holderLeaseLeft: number | undefined, stillQueued: boolean): void {
    this.told.heard(this.engine.clock.monotonic(), holderLeaseLeft, stillQueued);
    this.engine.reporter.storeAnswered();
  }

  unheard(error: LockStoreError): void {
    this.told.failure = error;
  }

  answered(): void {
    if (this.line.size > 0) this.goOn();
  }

  granted(place: SharePlace, lease: Lease, caller: Waiter, grant: Grant): void {
    const { engine, pause } = this;
    if (isSemaphore(caller) && !caller.fair && engine.session.reserve !== undefined) {
      this.turns.keep(lease, grant.othersWait === true);
    }
    this.forget(place);
    handOver(engine, lease, caller);
    // There may be room for those behind it, too.
    if (pause.heapIndex !== -1) engine.timers.clear(pause);
    this.goOn();
  }

  left(place: SharePlace): void {
    this.forget(place);
    this.hasLeft(place);
    this.goOn();
  }

  private forget(place: SharePlace): void {
    const index = this.places.indexOf(place);
    if (index !== -1) this.places.splice(index, 1);
  }

  /** Whether there are as many places already as there are shares to be had. */
  private hasPlacesFor({ limit }: Waiter): boolean {
    if (limit === 1 || this.places.length < limit) return false;
    let count = 0;
    for (const place of this.places) if (place.limit === limit) count += 1;
    return count >= limit;
  }

  private leave(place: SharePlace): void {
    this.forget(place);
    this.leaving.add(place);
    place.passTo(undefined);
  }

  follow(withdrawal: Promise<unknown>): void {
    this.leaving.add(withdrawal);
    void withdrawal.then(() => {
      this.hasLeft(withdrawal);
      this.closeIfUnused();
    });
  }

  private hasLeft(who: SharePlace | Promise<unknown>): void {
    this.leaving.delete(who);
    if (this.leaving.size > 0) return;
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }

  /** Shares that were kept for the next caller go back when there is none. */
  private endRests(): void {
    if (this.first !== undefined) return;
    for (const returned of this.turns.endRests()) this.follow(returned);
  }

  /** Takes a caller out of the line. Those behind it in a semaphore move up, so that the process keeps its turns (B13). */
  private dismiss(caller: Waiter): void {
    this.line.leave(caller);
    const index = this.places.findIndex(({ head }) => head === caller);
    const place = this.places[index];
    if (place === undefined) return;
    const free = isSemaphore(caller) ? this.moveUp(place, index) : place;
    if (free !== undefined) this.leave(free);
  }

  /**
   * Passes a place to the next caller, and that one's place to the one behind. Only those who ask for the same can have
   * it: what the store answers to a place is for one limit. Answers the place that nobody needs any more, if there is one.
   */
  private moveUp(from: SharePlace, index: number): SharePlace | undefined {
    let free = from;
    for (let i = index + 1; i < this.places.length; i++) {
      const behind = this.places[i];
      if (behind?.limit !== from.limit) continue;
      free.passTo(behind.head);
      free = behind;
    }
    const { first } = this.line;
    if (first?.limit !== from.limit) return free;
    this.line.leave(first);
    free.passTo(first);
    return undefined;
  }

  private readonly giveUp = (wait: Wait<Hold>, why: GivenUp): void => {
    const caller = wait as Waiter; // only those are added
    const { engine, told } = this;
    const share = this.places.find(({ head }) => head === caller);
    const place = share?.place;
    const firstAnswerOut = place !== undefined && told.isNothing;
    const isPart = caller.partOf !== undefined;
    if (why === 'timeout' && firstAnswerOut && !caller.prolonged && !isPart) {
      caller.prolonged = true;
      caller.prolong(later(engine.clock.monotonic(), ANSWER_GRACE));
      return;
    }
    const isSilent = place !== undefined && this.isSilent(place);
    const error =
      why === 'aborted' ? caller.abortReason : this.timeoutOf(caller, place === undefined, isSilent);
    caller.stop();
    if (this.line.size > 0) this.goOnLater();
    this.dismiss(caller);
    this.endRests();
    // Nobody has taken it over.
    if (isPart && share?.head === undefined && place?.askedAt !== undefined) place.abandon();
    this.goOn();
    // Nothing shall stay behind in the store when the caller hears of it (B10), within reason.
    if (why === 'timeout' && this.leaving.size > 0 && (!firstAnswerOut || isPart)) {
      void engine.timers.within(ANSWER_GRACE, this.idle()).then(() => {
        engine.reporter.refuse(caller, error);
      });
    } else engine.reporter.refuse(caller, error);
  };

  /** Whether what the store said does not count any more, while it owes an answer to that place. */
  private isSilent(place: QueueTicket): boolean {
    if (place.isSilent) return true;
    const { told, places, engine } = this;
    return (
      told.answered && told.isOld(engine.clock.monotonic()) && !places.some((each) => each.place.answered)
    );
  }

  private goOnLater(): void {
    const { engine, pause } = this;
    if (pause.heapIndex === -1) engine.timers.set(pause, later(engine.clock.monotonic(), ANSWER_GRACE));
  }

  private timeoutOf(caller: Waiter, isInLine: boolean, isSilent: boolean): Error {
    const { engine, told } = this;
    const isHeldHere = isInLine && this.queues.queueOf(this.key)?.isKnownBusy === true;
    const holderLeaseLeft = told.holderLeaseLeft(engine.clock.monotonic());
    return endOfWait(engine, caller, told, { isHeldHere, isSilent, holderLeaseLeft });
  }
}

function isSemaphore({ limit }: Waiter): boolean {
  return limit !== 1 && limit !== Infinity;
}
