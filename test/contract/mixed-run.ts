import { randomInt } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { LockConflictError, type LockOptions } from '../../lib/index.js';
import { Random } from '../soak/random.mjs';
import type { LockApp } from '../support/lock-app.js';
import { agree, SharingWitness } from '../support/sharing-witness.js';

/** One caller and its outcome. */
interface Call {
  readonly limit: number;
  readonly startedAt: number;
  /** When it had released, or given up. */
  endedAt: number;
  outcome: 'served' | Error | undefined;
}

/** The abort reason of a call that gave up. */
class GaveUp extends Error {}

/** Many random callers of one key, from several applications, with conflicting limits. */
export class MixedRun {
  readonly seed = randomInt(2 ** 31);
  readonly witness = new SharingWitness();
  private readonly random = new Random(this.seed);
  private readonly calls: Call[] = [];
  private readonly work: Promise<void>[] = [];
  private moments = 0;
  private heldUntil = 0;

  constructor(
    readonly key: string,
    private readonly apps: readonly LockApp[],
    private readonly pause: () => Promise<unknown>,
    /** Whether several servers vote: of two conflicting callers each may be first at some servers, and both be rejected. */
    private readonly isDecidedByVotes: boolean,
  ) {}

  /** A caller that holds the lock from the start until the returned function is called. */
  async hold(limit: number): Promise<() => Promise<void>> {
    const call = this.newCall(limit);
    const held = await this.random.pick(this.apps).locks.acquire(this.key, sharing(limit));
    this.witness.enter(limit);
    return async () => {
      this.witness.leave(limit);
      this.heldUntil = this.moment();
      await held.release();
      call.outcome = 'served';
      call.endedAt = this.moment();
    };
  }

  /** Resolves when this many callers have arrived. Most of them agree, like callers with one mistaken option among them. */
  async addCallers(count: number, limits: readonly number[], usual: number): Promise<void> {
    const { random } = this;
    for (let n = 0; n < count; n++) {
      const limit = random.chance(0.7) ? usual : random.pick(limits);
      this.work.push(this.call(limit));
      if (random.chance(0.3)) await this.pause();
    }
  }

  /** Resolves when every caller has an outcome. */
  async settled(): Promise<void> {
    await Promise.all(this.work);
  }

  get served(): number {
    return this.calls.filter(({ outcome }) => outcome === 'served').length;
  }

  /** Callers rejected for a conflict although no conflicting caller was there. */
  get unfounded(): readonly Call[] {
    const { calls, refused, isDecidedByVotes } = this;
    const others = isDecidedByVotes ? calls : calls.filter((call) => !refused.includes(call));
    return refused.filter((call) => !others.some((other) => isReasonFor(other, call)));
  }

  /** Callers rejected for a conflict although a holder agreed with them. */
  disagreedWith(limit: number): readonly Call[] {
    return this.refused.filter((call) => agree(call.limit, limit) && call.endedAt <= this.heldUntil);
  }

  private get refused(): readonly Call[] {
    return this.calls.filter(({ outcome }) => outcome instanceof LockConflictError);
  }

  private async call(limit: number): Promise<void> {
    const { random, witness, key } = this;
    const { locks } = random.pick(this.apps);
    const call = this.newCall(limit);
    const patience = random.pick(['short', 'signal', 'long', 'long', 'long']);
    const leave = new AbortController();
    const options: LockOptions = {
      ...sharing(limit),
      waitTime: patience === 'short' ? random.between(1, 30) : 25_000,
      signal: leave.signal,
    };
    const turns = random.between(0, 3);
    if (patience === 'signal') void this.abort(leave, turns);
    try {
      const held = await locks.acquire(key, options);
      witness.enter(limit);
      for (let turn = 0; turn < turns; turn++) await this.pause();
      witness.leave(limit);
      // Unlike withLock(), it waits for the reply of the store. Until then, callers of other processes may be rejected.
      await held.release();
      call.outcome = 'served';
    } catch (error) {
      call.outcome = error as Error;
    }
    call.endedAt = this.moment();
  }

  private newCall(limit: number): Call {
    const call: Call = { limit, startedAt: this.moment(), endedAt: Infinity, outcome: undefined };
    this.calls.push(call);
    return call;
  }

  private async abort(leave: AbortController, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await (turn % 2 === 0 ? this.pause() : endOfTurn());
    leave.abort(new GaveUp());
  }

  private moment(): number {
    return (this.moments += 1);
  }
}

function sharing(limit: number): LockOptions {
  return limit === Infinity ? { mode: 'shared' } : { limit };
}

/**
 * Whether one call may have been rejected because the other held the lock or waited for it. The request of
 * a cancelled caller may reach the store later.
 */
function isReasonFor(other: Call, call: Call): boolean {
  if (agree(other.limit, call.limit)) return false;
  if (other.startedAt > call.endedAt) return false;
  return other.outcome !== 'served' || other.endedAt > call.startedAt;
}
