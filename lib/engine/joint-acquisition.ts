import type { ResolvedLockOptions } from '../lock.options.js';
import type { MonotonicMs } from '../stores/lock-store.js';
import type { Hold } from './hold.js';
import { JointHold } from './joint-hold.js';
import { takeTogether } from './joint-try.js';
import { GRACE } from './key-queue.js';
import type { LockEngine } from './lock-engine.js';
import { heldKeys, innermostHold, scopeOfCaller } from './scope.js';
import { storeFailure } from './store-failure.js';
import { Upkeep } from './upkeep.js';

/**
 * All of several keys for one caller, or none (B12): in one request where the store can do that, else one after the
 * other. The keys come in one order everywhere, so that no two callers wait for each other.
 */
export class JointAcquisition {
  private readonly startedAt: MonotonicMs;
  /** What each key is taken with: those that are given back for want of another don't stay taken. */
  private readonly each: ResolvedLockOptions;
  private holds: Hold[] = [];
  private readonly upkeep: Upkeep;

  /** @param keys sorted, without duplicates */
  constructor(
    private readonly engine: LockEngine,
    private readonly keys: readonly string[],
    private readonly options: ResolvedLockOptions,
  ) {
    this.startedAt = engine.clock.monotonic();
    this.each = { ...options, holdAtLeast: 0 };
    this.upkeep = new Upkeep(engine, options.leaseTime);
  }

  async run(): Promise<JointHold> {
    const { engine, options } = this;
    options.signal?.throwIfAborted();
    if (!engine.isClosing) await engine.start();
    for (;;) {
      const whole = await this.attempt();
      if (whole !== undefined) return whole;
    }
  }

  /** Undefined if it has to be tried once more. */
  private async attempt(): Promise<JointHold | undefined> {
    try {
      await this.takeAll();
      const whole = await this.complete();
      if (whole === undefined) await this.giveBack();
      return whole;
    } catch (error) {
      await this.giveBack();
      throw error;
    } finally {
      this.upkeep.end();
    }
  }

  private async takeAll(): Promise<void> {
    const { engine, keys, each, startedAt } = this;
    const alone = this.countAlone();
    for (const [index, key] of keys.entries()) {
      if (index === alone) {
        const rest = await takeTogether(engine, keys.slice(index), each, startedAt);
        if (rest !== undefined) {
          this.holds.push(...rest);
          return;
        }
      }
      this.holds.push(await engine.acquire(key, each, startedAt));
      this.upkeep.of(this.holds);
    }
  }

  /** How many keys are asked for by themselves in any case: up to the last that the caller holds already. */
  private countAlone(): number {
    let alone = 0;
    for (const [index, key] of this.keys.entries()) {
      if (innermostHold(this.engine, key) !== undefined) alone = index + 1;
    }
    return this.keys.length - alone < 2 ? Infinity : alone;
  }

  /** Makes one hold of all; undefined if it did not come to that though there is time for another attempt. */
  private async complete(): Promise<JointHold | undefined> {
    const { engine, keys, holds, startedAt } = this;
    const failure = await this.upkeep.finish();
    const [first] = holds;
    const lost = holds.find(({ isOver }) => isOver);
    if (failure === undefined && lost === undefined && first !== undefined) {
      for (const hold of holds) hold.keepFor(this.options.holdAtLeast);
      return new JointHold(engine, first, holds);
    }
    const { waitTime } = this.options;
    const mayHelp = failure === undefined || storeFailure(failure.cause).retryable;
    if (mayHelp && engine.clock.monotonic() - startedAt < waitTime) return undefined;
    const key = lost?.key ?? keys[0] ?? '';
    const holding = heldKeys(engine, scopeOfCaller());
    throw failure ?? engine.reports.lostAgain({ key, startedAt, waitTime, holding });
  }

  /** Before the caller hears of it, within reason (B10). */
  private async giveBack(): Promise<void> {
    const releases = [...this.holds].reverse().map((hold) => hold.release());
    this.holds = [];
    if (releases.length > 0) await this.engine.waits.within(GRACE, Promise.all(releases));
  }
}
