import type { ResolvedLockOptions } from '../../model/resolved-lock.options.js';
import type { MonotonicMs } from '../../stores/port/lock-store.js';
import type { PartOptions } from '../queue/waiter.js';
import type { Timer } from '../../common/timer-queue.js';
import { later } from '../../common/clock.js';
import type { Hold } from '../hold/hold.js';
import { MultiHold } from '../hold/multi-hold.js';
import { checkMinimumHold } from '../lease/lease-bounds.js';
import { takeTogether } from './multi-try.js';
import type { EngineContext } from '../context.js';
import { extendInTime } from '../hold/extend-in-time.js';
import { ANSWER_GRACE, LATEST_OUTCOME } from '../time/time-limits.js';
import type { AcquireContext } from './acquire-context.js';
import { acquire } from './acquire.js';
import { whenStarted } from './when-started.js';
import { heldKeys, innermostHold, scopeOfCaller } from '../scope/scope.js';
import { KeepAlive } from '../hold/keep-alive.js';

/**
 * All of several keys for one caller, or none (B12): in one request where the store can do that. Else those before the
 * first that is not to be had at once are taken, then that one is waited for, then the rest. The keys come in one order
 * everywhere, so that no two callers wait for each other.
 */
export class MultiAcquire implements Timer {
  heapIndex = -1;
  dueAt = Infinity as MonotonicMs;

  private readonly startedAt: MonotonicMs;
  /** What each key is taken with: those that are given back for want of another don't stay taken. */
  private readonly each: ResolvedLockOptions;
  /** The same when the store has answered this call before: nothing is waited for beyond `waitTime` then. */
  private next: PartOptions;
  private heard = false;
  /** Whether `waitTime: 0` has had its second try. */
  private wasRepeated = false;
  private isOver = false;
  private holds: Hold[] = [];
  /** How many of them were there before the last request. */
  private earlier = 0;
  private returned: Promise<unknown> = Promise.resolve();
  private readonly keepAlive: KeepAlive;

  private readonly engine: EngineContext;

  /** @param keys sorted, without duplicates */
  constructor(
    private readonly context: AcquireContext,
    private readonly keys: readonly string[],
    private readonly options: ResolvedLockOptions,
  ) {
    const { engine } = context;
    this.engine = engine;
    this.startedAt = engine.clock.monotonic();
    this.each = { ...options, holdAtLeast: 0 };
    this.next = { ...this.each, partOf: keys.length, heldKey: undefined };
    this.keepAlive = new KeepAlive(engine, options.leaseTime);
  }

  async run(): Promise<MultiHold> {
    const { engine, options, startedAt } = this;
    const { waitTime } = options;
    options.signal?.throwIfAborted();
    // The only try of `waitTime: 0` takes as long as it takes.
    if (waitTime !== 0 && waitTime !== Infinity) engine.timers.set(this, later(startedAt, waitTime));
    try {
      // In any case later, so that whoever aborts right after the call asks for nothing.
      if (engine.isStarted || engine.isClosing) await Promise.resolve();
      else await whenStarted(engine, this.keys[0] ?? '', options, startedAt);
      checkMinimumHold(engine.session, options.holdAtLeast);
      for (;;) {
        const whole = await this.attempt();
        if (whole !== undefined) return whole;
      }
    } finally {
      if (this.heapIndex !== -1) engine.timers.clear(this);
    }
  }

  /** `waitTime` is over: what there is goes back at once, before the request under way has come to an end (B10). */
  fire(): void {
    if (!this.heard || this.holds.length === this.keys.length) return;
    this.isOver = true;
    this.letGo();
  }

  /** Undefined if it has to be tried once more. */
  private async attempt(): Promise<MultiHold | undefined> {
    try {
      await this.takeAll();
      const whole = await this.complete();
      if (whole === undefined) await this.giveBack();
      return whole;
    } catch (error) {
      await this.giveBack();
      throw error;
    } finally {
      this.keepAlive.end();
    }
  }

  private async takeAll(): Promise<void> {
    const { keys, startedAt } = this;
    const alone = this.countAlone();
    let canTogether = true;
    let failures = 0;
    /** The first of which it is known that it is not to be had at once. */
    let busy = keys.length;
    for (let [key] = keys; key !== undefined; key = keys[this.holds.length]) {
      this.assertInTime(key);
      const index = this.holds.length;
      const options = this.heard ? this.next : this.each;
      if (canTogether && index >= alone && busy - index > 1) {
        const some = keys.slice(index, busy);
        // Callers of this process come first where they wait, and the store can't grant what one of them holds.
        const used = some.findIndex((each) => this.context.queues.isInUse(each));
        if (used !== -1) {
          this.isBusyAt(
            (busy = index + used),
            this.context.queues.queueOf(some[used] ?? '')?.keepsOut(options.limit) === true,
          );
          continue;
        }
        const answer = await takeTogether(this.context, some, options, startedAt);
        if (typeof answer === 'number') {
          this.heard = true;
          this.isBusyAt((busy = index + answer), true);
          continue;
        }
        if (answer) {
          this.got(answer);
          continue;
        }
        // After a failure the next key is asked for until the store is there again.
        failures += answer === undefined ? 1 : 0;
        canTogether = answer === undefined && failures === 1;
        busy = index;
      }
      this.got([await acquire(this.context, key, options, startedAt, this.context.engine.clock.monotonic())]);
      if (index >= busy) {
        busy = keys.length;
        this.isBusyAt(busy, false);
      }
    }
  }

  private isBusyAt(index: number, isHeld: boolean): void {
    this.next = { ...this.next, heldKey: isHeld ? this.keys[index] : undefined };
  }

  private got(some: readonly Hold[]): void {
    this.earlier = this.holds.length;
    this.holds.push(...some);
    this.heard ||= some.some(({ lease }) => lease.startedAt >= this.startedAt);
    this.keepAlive.of(this.holds);
    // Granted in the moment in which time was over.
    if (this.isOver) this.letGo();
  }

  private assertInTime(key: string): void {
    const { engine, startedAt, next } = this;
    const { waitTime } = next;
    if (!this.isOver && (waitTime === 0 || !this.heard || engine.clock.monotonic() - startedAt < waitTime)) {
      return;
    }
    this.isOver = true;
    throw engine.reporter.told(engine.reporter.outOfTime({ ...next, key, startedAt, holding: this.holding }));
  }

  /** Keys of the locks that the caller holds. */
  private get holding(): readonly string[] {
    return heldKeys(this.engine, scopeOfCaller());
  }

  /** How many keys are asked for by themselves in any case: up to the last that the caller holds already. */
  private countAlone(): number {
    let alone = 0;
    for (const [index, key] of this.keys.entries()) {
      if (innermostHold(this.engine, key) !== undefined) alone = index + 1;
    }
    return alone;
  }

  /** Makes one hold of all; undefined if it did not come to that though there is time for another attempt. */
  private async complete(): Promise<MultiHold | undefined> {
    const { engine, keys, holds, startedAt, options } = this;
    const { waitTime, leaseTime } = options;
    this.keepAlive.end();
    if (leaseTime !== undefined && this.earlier > 0) {
      // The last key is there: the others last as long from now on.
      const leases = holds.slice(0, this.earlier).map(({ lease }) => lease);
      await extendInTime(engine, leases, leaseTime, options, startedAt);
    }
    const [first] = holds;
    const lost = holds.find(({ isOver }) => isOver);
    if (lost === undefined && first !== undefined) {
      for (const hold of holds) hold.keepFor(options.holdAtLeast);
      return new MultiHold(engine, first, holds, options);
    }
    if (engine.clock.monotonic() - startedAt < waitTime) return undefined;
    // Nor is the only try of `waitTime: 0` over when one was lost while the others came: it says nothing of the next.
    if (waitTime === 0 && !this.wasRepeated) {
      this.wasRepeated = true;
      return undefined;
    }
    const key = lost?.key ?? keys[0] ?? '';
    throw engine.reporter.told(
      engine.reporter.lostAgain({ ...options, key, startedAt, holding: this.holding }),
    );
  }

  /** Before the caller hears of it, within reason (B10). */
  private async giveBack(): Promise<void> {
    this.letGo();
    await this.returned;
  }

  private letGo(): void {
    const releases = [...this.holds].reverse().map((hold) => hold.release());
    this.holds = [];
    this.keepAlive.end();
    if (releases.length === 0) return;
    const { engine, startedAt, options } = this;
    const latest = options.waitTime === 0 ? Infinity : startedAt + options.waitTime + LATEST_OUTCOME;
    const patience = Math.max(0, Math.min(ANSWER_GRACE, latest - engine.clock.monotonic()));
    this.returned = engine.timers.within(patience, Promise.all([this.returned, ...releases]));
  }
}
