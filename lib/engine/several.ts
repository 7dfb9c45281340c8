import { later } from '../common/clock.js';
import type { Timer } from '../common/timer-queue.js';
import type { ResolvedLockOptions } from '../model/lock.options.js';
import type { MonotonicMs } from '../stores/port/lock-store.js';
import { acquire, type AcquireContext, checkSupported, whenStarted } from './acquire.js';
import { extendInTime } from './extend.js';
import { Hold, type PartOptions } from './hold.js';
import { MultiHold } from './multi-hold.js';
import { heldKeys, innermostHold, scopeOfCaller } from './scope.js';
import { ANSWER_GRACE, LATEST_OUTCOME } from './time-limits.js';
import { Missed, Tries } from './tries.js';

/**
 * Acquires several keys for one caller, or none. It requests all of them at once, keeps those before the first one that is
 * not free, waits for that one, and continues after it. Callers wait for keys in the same order, so no two deadlock.
 */
export class SeveralKeys implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  private readonly startedAt: MonotonicMs;
  /** Without `holdAtLeast`: keys that are released because another is missing don't stay held. */
  private each: ResolvedLockOptions & Partial<PartOptions>;
  /** The same once the store has replied: from then on nothing waits beyond `waitTime`. */
  private next: PartOptions;
  private isAnswered = false;
  /** Whether `waitTime: 0` has had its second attempt. */
  private wasRepeated = false;
  private isOver = false;
  private readonly holds: Hold[] = [];
  /** How many holds there were before the last request. */
  private earlier = 0;
  private released: Promise<unknown> = Promise.resolve();
  private readonly keepAlive: KeepAlive;

  /** @param keys sorted, without duplicates */
  constructor(
    private readonly engine: AcquireContext,
    private readonly keys: readonly string[],
    private readonly options: ResolvedLockOptions,
  ) {
    this.startedAt = engine.clock.monotonic();
    this.each = { ...options, holdAtLeast: 0 };
    this.next = { ...this.each, partOf: keys.length, heldKey: undefined, lastFailure: undefined };
    this.keepAlive = new KeepAlive(engine, options.leaseTime);
  }

  async run(): Promise<MultiHold> {
    const { engine, options, startedAt } = this;
    const { waitTime } = options;
    options.signal?.throwIfAborted();
    // The single request of `waitTime: 0` has no time limit.
    if (waitTime !== 0 && waitTime !== Infinity) engine.timers.set(this, later(startedAt, waitTime));
    try {
      // Never in the same turn, so that a caller that aborts right after the call sends nothing.
      if (engine.isStarted || engine.isClosing) await Promise.resolve();
      else await whenStarted(engine, this.keys[0] ?? '', options, startedAt);
      checkSupported(engine.session, options);
      for (;;) {
        const whole = await this.attempt();
        if (whole !== undefined) return whole;
      }
    } finally {
      if (this.heapIndex !== -1) engine.timers.clear(this);
    }
  }

  /** `waitTime` has ended: releases the acquired keys at once, even while a request is pending. */
  fire(): void {
    if (!this.isAnswered || this.holds.length === this.keys.length) return;
    this.isOver = true;
    this.startRelease(this.holds.splice(0));
  }

  /** Undefined if it has to be repeated. */
  private async attempt(): Promise<MultiHold | undefined> {
    try {
      await this.acquireEach();
      const whole = await this.complete();
      if (whole === undefined) await this.release();
      return whole;
    } catch (error) {
      await this.release();
      throw error;
    }
  }

  private async acquireEach(): Promise<void> {
    const { engine, keys, startedAt } = this;
    const alone = this.countAlone();
    /** Index of the first key that is known not to be free. */
    let busy = keys.length;
    for (let [key] = keys; key !== undefined; key = keys[this.holds.length]) {
      this.assertInTime(key);
      const index = this.holds.length;
      const options = this.isAnswered ? this.next : this.each;
      if (index >= alone && busy - index > 1 && !engine.isClosing) {
        busy = await this.tryTogether(index, this.firstUsed(index, busy), options);
        continue;
      }
      this.add([await acquire(engine, key, options, startedAt, engine.clock.monotonic())]);
      if (index >= busy) {
        busy = keys.length;
        this.noteBusy(busy, false);
      }
    }
  }

  /** The first key with callers of this process, which come first; `to` if there is none. */
  private firstUsed(from: number, to: number): number {
    const { engine, keys, each } = this;
    for (let index = from; index < to; index += 1) {
      const line = engine.lines.get(keys[index] ?? '');
      if (line?.isUsed !== true) continue;
      this.noteBusy(index, line.keepsOut(each.limit));
      return index;
    }
    return to;
  }

  /**
   * Requests some of the keys at once. Keeps those before the first one that is not free, and releases the others.
   *
   * @returns the index of that key
   */
  private async tryTogether(
    from: number,
    to: number,
    options: ResolvedLockOptions | PartOptions,
  ): Promise<number> {
    const { engine, keys, startedAt } = this;
    const scope = scopeOfCaller();
    const attempts = keys.slice(from, to).map((key) => {
      const hold = new Hold(engine, key, options, startedAt, scope, startedAt);
      new Tries(engine, engine.lines.open(key), hold, undefined, true).start();
      return hold.promise;
    });
    const outcomes = await Promise.allSettled(attempts);
    const first = outcomes.findIndex(({ status }) => status === 'rejected');
    const count = first === -1 ? outcomes.length : first;
    const holdsOf = (some: typeof outcomes): Hold[] =>
      some.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    this.add(holdsOf(outcomes.slice(0, count)));
    this.startRelease(holdsOf(outcomes.slice(count)));
    const failed = outcomes[count];
    if (failed?.status !== 'rejected') return to;
    const why: unknown = failed.reason;
    if (!(why instanceof Missed)) throw why instanceof Error ? engine.reporter.reported(why) : why;
    this.isAnswered ||= why.isHeld;
    const { failure: lastFailure } = why;
    if (lastFailure !== undefined) {
      this.each = { ...this.each, lastFailure };
      this.next = { ...this.next, lastFailure };
    }
    this.noteBusy(from + count, why.isHeld);
    return from + count;
  }

  private noteBusy(index: number, isHeld: boolean): void {
    this.next = { ...this.next, heldKey: isHeld ? this.keys[index] : undefined };
  }

  private add(some: readonly Hold[]): void {
    this.earlier = this.holds.length;
    this.holds.push(...some);
    this.isAnswered ||= some.some(({ ticket }) => ticket.startedAt >= this.startedAt);
    this.keepAlive.track(this.holds);
    // Granted at the moment when the time ended.
    if (this.isOver) this.startRelease(this.holds.splice(0));
  }

  private assertInTime(key: string): void {
    const { engine, startedAt, next } = this;
    const { waitTime } = next;
    if (waitTime === 0 || !this.isAnswered || engine.clock.monotonic() < later(startedAt, waitTime)) return;
    throw engine.reporter.reported(
      engine.reporter.outOfTime({ ...next, key, startedAt, holding: this.holding }),
    );
  }

  /** Keys of the locks that the caller holds. */
  private get holding(): readonly string[] {
    return heldKeys(this.engine, scopeOfCaller());
  }

  /** How many keys are requested one by one in any case: up to the last one that the caller holds already. */
  private countAlone(): number {
    if (!this.options.reentrant) return 0;
    return this.keys.reduce((alone, key, index) => {
      return innermostHold(this.engine, key) === undefined ? alone : index + 1;
    }, 0);
  }

  /** Combines all holds into one; undefined if one was lost meanwhile and there is time for another attempt. */
  private async complete(): Promise<MultiHold | undefined> {
    const { engine, keys, holds, startedAt, options } = this;
    const { waitTime, leaseTime, operation, label, limit, permits } = options;
    this.keepAlive.end();
    if (leaseTime !== undefined && this.earlier > 0) {
      // The last key is acquired: the leases of the others begin now as well.
      const tickets = holds.slice(0, this.earlier).map(({ ticket }) => ticket);
      const late = (key: string): Error =>
        engine.reporter.outOfTime({ ...this.next, key, startedAt, holding: this.holding });
      await extendInTime(engine, tickets, leaseTime, options, startedAt, late);
    }
    const [first] = holds;
    const lost = holds.find(({ isOver }) => isOver);
    if (lost === undefined && first !== undefined) {
      for (const hold of holds) hold.keepFor(options.holdAtLeast);
      return new MultiHold(engine, first, holds, operation, label, limit, permits);
    }
    if (engine.clock.monotonic() - startedAt < waitTime) return undefined;
    // A loss does not predict the next attempt, so `waitTime: 0` gets a second one.
    if (waitTime === 0 && !this.wasRepeated) {
      this.wasRepeated = true;
      return undefined;
    }
    const key = lost?.key ?? keys[0] ?? '';
    throw engine.reporter.reported(
      engine.reporter.lostAgain({ ...options, key, startedAt, holding: this.holding }),
    );
  }

  /** Before the caller gets the outcome, within limits. */
  private async release(): Promise<void> {
    this.keepAlive.end();
    this.startRelease(this.holds.splice(0));
    await this.released;
  }

  private startRelease(holds: readonly Hold[]): void {
    const releases = [...holds].reverse().map((hold) => hold.release());
    if (releases.length === 0) return;
    const { engine, startedAt, options } = this;
    const latest = options.waitTime === 0 ? Infinity : startedAt + options.waitTime + LATEST_OUTCOME;
    const patience = Math.max(0, Math.min(ANSWER_GRACE, latest - engine.clock.monotonic()));
    this.released = engine.timers.within(patience, Promise.all([this.released, ...releases]));
  }
}

/**
 * Extends holds with a `leaseTime` while the call waits for further keys: it counts from when all are acquired. All of
 * them, whenever a third of the `leaseTime` has passed.
 */
class KeepAlive implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;
  private holds: readonly Hold[] = [];

  constructor(
    private readonly engine: AcquireContext,
    private readonly leaseTime: number | undefined,
  ) {}

  /** Keeps exactly these holds, until the end. */
  track(holds: readonly Hold[]): void {
    this.holds = holds;
    if (this.heapIndex === -1) this.wait();
  }

  end(): void {
    this.holds = [];
    if (this.heapIndex !== -1) this.engine.timers.clear(this);
  }

  fire(): void {
    const tickets = this.holds.filter(({ isOver }) => !isOver).map(({ ticket }) => ticket);
    // A failure is retried, or noticed when all keys are acquired.
    void this.engine.tickets.extend(tickets, this.leaseTime ?? 0);
    this.wait();
  }

  private wait(): void {
    const { engine, leaseTime } = this;
    if (leaseTime !== undefined) engine.timers.set(this, later(engine.clock.monotonic(), leaseTime / 3));
  }
}
