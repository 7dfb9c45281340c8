import { LockStoreError, type AskReply, type OwnerId, type PushedGrant } from '../stores/lock-store.js';
import type { Acquisition } from './acquisition.js';
import { deadlineOf, later } from './clock.js';
import { pauseBefore } from './insistence.js';
import type { LockEngine } from './lock-engine.js';
import type { QueuePlace } from './queue-place.js';
import type { GivenUp } from './wait.js';
import { storeFailure } from './store-failure.js';

/** A waiter asks again at least this often, ms: its heartbeat, and the cure for lost messages (P14). */
const POLL = 1_000;
/** So that the waiters of an expired lock do not all ask in the same moment, ms. */
const POLL_JITTER = 30;
/** Lease of a pushed grant until it is claimed, ms (P12). */
const CLAIM_LEASE = 2_000;
/** A request without an answer for longer than this, ms, says nothing any more about who holds the lock. */
const SILENCE = 250;
/** How long the answer to the first request may be late when `waitTime` is over, ms (B10). */
const GRACE = 30;

/**
 * The callers of this process that wait for one key, in order. Only one place in the store's queue stands for all of
 * them (P10): it asks for the caller at the head until the lock is granted or nobody is left.
 */
export class KeyQueue {
  private readonly callers = new Set<Acquisition>();
  private place: QueuePlace | undefined;
  /** Whether the store has answered about this key, and the failure of the last request if it failed. */
  private answered = false;
  private answeredAt = -Infinity;
  private failure: LockStoreError | undefined;
  private seeking: Promise<void> | undefined;
  /** Ends the wait for a withdrawal: somebody wants the lock again. */
  private onArrival: (() => void) | undefined;

  constructor(
    private readonly key: string,
    private readonly engine: LockEngine,
    private readonly onEmpty: () => void,
  ) {}

  get size(): number {
    return this.callers.size;
  }

  /** Whether the store is known to keep us waiting, so that a further caller need not ask. */
  get isKnownBusy(): boolean {
    return this.place?.answered === true && this.failure === undefined && !this.isSilent;
  }

  /** Whether the store owes an answer for so long that it can't be relied on. */
  private get isSilent(): boolean {
    const askedAt = this.place?.askedAt;
    return askedAt !== undefined && this.engine.clock.monotonic() - askedAt > SILENCE;
  }

  add(caller: Acquisition): void {
    this.callers.add(caller);
    this.onArrival?.();
    caller.onGivenUp = (why) => {
      this.giveUp(caller, why);
    };
    caller.begin();
    if (this.isKnownBusy) this.engine.reports.queued(caller, this.holderLeaseLeft);
    this.seeking ??= this.seekForAll();
  }

  /** Asks again now. */
  wake(): void {
    this.place?.wake();
  }

  /** The store brought a grant for our place. */
  granted(owner: OwnerId, grant: PushedGrant): void {
    if (this.place?.owner === owner) this.place.push(grant);
  }

  closeAll(): void {
    for (const caller of this.callers) {
      caller.fail(this.engine.reports.closed(this.key));
    }
    this.callers.clear();
    this.wake();
  }

  /** Resolves when no request of this queue is under way any more. */
  async idle(): Promise<void> {
    await this.seeking;
  }

  get holderLeaseLeft(): number | undefined {
    const freeAt = this.place?.holderFreeAt;
    return freeAt === undefined ? undefined : Math.max(0, Math.round(freeAt - this.engine.clock.monotonic()));
  }

  private get head(): Acquisition | undefined {
    for (const caller of this.callers) return caller;
    return undefined;
  }

  /** Whatever a store of the user's does, the callers hear of it. */
  private async seekForAll(): Promise<void> {
    try {
      while (this.callers.size > 0) await this.seekOnce();
    } catch (error) {
      this.failAll(storeFailure(error));
    } finally {
      // In one step with finding nobody: whoever comes now starts anew.
      this.seeking = undefined;
      this.onEmpty();
    }
  }

  private async seekOnce(): Promise<void> {
    const place = this.engine.openPlace(this);
    this.place = place;
    try {
      await this.seek(place);
    } finally {
      this.place = undefined;
      this.engine.closePlace(place);
    }
    if (this.failure !== undefined) await place.pauseFor(this.engine.clock.monotonic(), pauseBefore(1));
  }

  /** Asks until the place has brought one grant, or is given back. */
  private async seek(place: QueuePlace): Promise<void> {
    const { clock, session } = this.engine;
    for (let failures = 0; ;) {
      const head = this.head;
      if (head === undefined) break;
      if (this.deliverPushed(place, head)) return;

      const askedLease = head.lease;
      place.askedLease = askedLease;
      const sentAt = clock.monotonic();
      place.askedAt = sentAt;
      let reply: AskReply;
      try {
        reply = await session.ask({
          key: this.key,
          owner: place.owner,
          lease: askedLease,
          claimLease: Math.min(CLAIM_LEASE, askedLease),
          wait: true,
          callers: this.callers.size,
        });
      } catch (error) {
        place.askedAt = undefined;
        this.failed(place, storeFailure(error));
        failures += 1;
        await place.pauseFor(clock.monotonic(), pauseBefore(failures));
        continue;
      }
      place.askedAt = undefined;
      this.answeredAt = clock.monotonic();
      this.engine.reports.storeAnswered();
      place.answered = true;
      this.answered = true;
      this.failure = undefined;
      failures = 0;

      if (reply.outcome === 'cancelled') break;
      if (reply.outcome === 'granted') {
        const deadline = deadlineOf(sentAt, askedLease);
        const taker = this.head;
        // Made for another lease, or over before it arrived: given back, and asked for anew.
        if (taker?.lease !== askedLease) break;
        if (deadline <= clock.monotonic()) {
          this.failure = lateAnswer(askedLease);
          break;
        }
        const { token, since } = reply;
        this.deliver(place, taker, { token, since, startedAt: sentAt, deadline, unclaimed: false });
        return;
      }
      await this.stayQueued(place, reply.holderLeaseLeft);
    }
    if (!place.mayExist) return;
    // Nobody is known to keep us waiting any more, and whoever comes now asks at once, under a new owner.
    this.place = undefined;
    this.answered = false;
    const withdrawn = this.engine.withdraw(this.key, place.owner, place.inDoubt);
    if (this.callers.size > 0) return;
    await Promise.race([
      withdrawn,
      new Promise<void>((resolve) => {
        this.onArrival = resolve;
      }),
    ]);
    this.onArrival = undefined;
  }

  private async stayQueued(place: QueuePlace, holderLeaseLeft: number | undefined): Promise<void> {
    const now = this.engine.clock.monotonic();
    place.holderFreeAt = holderLeaseLeft === undefined ? undefined : later(now, holderLeaseLeft);
    for (const caller of this.callers) this.engine.reports.queued(caller, holderLeaseLeft);
    if (this.head?.lease !== place.askedLease) return;
    const expiry = (holderLeaseLeft ?? Infinity) + 1 + Math.random() * POLL_JITTER;
    await place.pauseFor(now, Math.min(expiry, POLL));
  }

  /** P12: the woken process holds the lock already; it starts at once and claims in the same moment. */
  private deliverPushed(place: QueuePlace, head: Acquisition): boolean {
    const grant = place.takeGrant();
    if (grant === undefined) return false;
    const { token, since, startedAt } = grant;
    const deadline = deadlineOf(startedAt, Math.min(grant.lease, head.lease));
    // P13: surely held no longer, so it is not started but asked for again.
    if (deadline <= this.engine.clock.monotonic()) return false;
    this.deliver(place, head, { token, since, startedAt, deadline, unclaimed: true });
    return true;
  }

  private deliver(
    place: QueuePlace,
    caller: Acquisition,
    grant: Pick<
      Parameters<LockEngine['open']>[0],
      'token' | 'since' | 'startedAt' | 'deadline' | 'unclaimed'
    >,
  ): void {
    this.callers.delete(caller);
    const hold = this.engine.open({
      ...grant,
      key: this.key,
      owner: place.owner,
      fixedLease: caller.leaseTime,
      inDoubt: place.inDoubt,
    });
    this.engine.reports.granted(caller, hold.token);
    caller.succeed(hold);
  }

  private failed(place: QueuePlace, error: LockStoreError): void {
    place.inDoubt ||= error.inDoubt;
    this.failure = error;
    if (error.retryable) return;
    // Asking again can't help, so nobody waits for it.
    this.failAll(error);
  }

  private failAll(error: LockStoreError): void {
    const callers = [...this.callers];
    this.callers.clear();
    for (const caller of callers) caller.fail(this.engine.reports.unavailable(this.key, error));
  }

  private giveUp(caller: Acquisition, why: GivenUp): void {
    const { clock } = this.engine;
    const place = this.place;
    const firstAnswerOut = !this.answered && this.failure === undefined;
    const late = clock.monotonic() - caller.startedAt - caller.waitTime;
    if (why === 'timeout' && firstAnswerOut && caller === this.head && late < GRACE) {
      caller.prolong(later(clock.monotonic(), GRACE - late));
      return;
    }
    this.callers.delete(caller);
    caller.stop();
    const next = this.head;
    if (next === undefined || next.lease !== place?.askedLease) this.wake();
    if (why === 'aborted') {
      caller.fail(caller.abortReason);
      return;
    }
    const error = this.timeoutOf(caller);
    // Nothing shall stay behind in the store when the caller hears of it (B10), within reason.
    const wait = next === undefined && place?.mayExist === true && !firstAnswerOut;
    const withdrawn = wait ? this.seeking : undefined;
    if (withdrawn === undefined) caller.fail(error);
    else {
      void this.engine.waits.within(GRACE, withdrawn).then(() => {
        caller.fail(error);
      });
    }
  }

  /** B11: held by others, or not to be asked. */
  private timeoutOf(caller: Acquisition): Error {
    const unheard = this.isSilent && this.answeredAt < caller.startedAt;
    if (!this.answered || unheard || this.failure !== undefined) {
      const waitedFor = this.engine.clock.monotonic() - caller.startedAt;
      return this.engine.reports.unavailable(this.key, this.failure, waitedFor);
    }
    return this.engine.reports.timedOut(caller, this.holderLeaseLeft);
  }
}

function lateAnswer(lease: number): LockStoreError {
  return new LockStoreError(
    `its answer took longer than the lease of ${String(lease)} ms that was asked for`,
    {
      inDoubt: false,
      retryable: true,
    },
  );
}
