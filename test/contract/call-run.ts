import { randomInt } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import {
  LockClosedError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
  type LockHandle,
  type LockOptions,
} from '../../lib/index.js';
import { Random } from '../soak/random.mjs';
import type { LockApp } from '../support/lock-app.js';
import { blockEventLoop, elapse } from '../support/until.js';
import { CallHistory, type Call } from './call-history.js';

/** What callers of one key have in common. */
export interface CallMix {
  /** Each caller's is one of these. */
  readonly limits: readonly number[];
  /** How many of the callers say `fair`, 0 … 1. */
  readonly fair: number;
  /** Whether nobody gives up: who does leaves its place to the next caller of its application, before others. */
  readonly isPatient?: boolean;
  /** Whether the lock is broken by force now and then. */
  readonly isBroken?: boolean;
  /** Whether one of the applications ends meanwhile. */
  readonly isClosed?: boolean;
}

/** What the run needs to know of the store. */
interface Surroundings {
  /** Of a request and its answer on their way, with whatever else they wait for, ms. */
  readonly delay: number;
  roundTrip(): Promise<unknown>;
}

/** What a call that gave up says. */
class GaveUp extends Error {}

/** Many callers of one key at random, from several applications, with all options that they need not agree on. */
export class CallRun {
  readonly history = new CallHistory();
  private readonly random: Random;
  private readonly work: Promise<void>[] = [];
  /** Number of the one that ends. */
  private ending: number | undefined;

  constructor(
    readonly key: string,
    private readonly apps: readonly LockApp[],
    private readonly mix: CallMix,
    private readonly store: Surroundings,
    readonly seed = randomInt(2 ** 31),
  ) {
    this.random = new Random(seed);
  }

  /** Resolves when so many callers have come, and all have their outcome. */
  async take(calls: number): Promise<void> {
    const { random, mix } = this;
    const [broken, closed] = [mix.isBroken, mix.isClosed].map((is) =>
      is === true ? random.between(1, calls) : 0,
    );
    for (let n = 1; n <= calls; n++) {
      this.work.push(this.call());
      if (random.chance(0.5)) await this.meanwhile();
      if (n === broken) this.work.push(this.break());
      if (n === closed) this.work.push(this.close());
    }
    await Promise.all(this.work);
  }

  /** What goes on in the process between two calls. */
  private async meanwhile(): Promise<void> {
    const { random, store } = this;
    const what = random.weighted([
      [4, 'turn'],
      [3, 'round trip'],
      [2, 'time'],
      [4, 'lull'],
      [1, 'block'],
    ] as const);
    if (what === 'turn') await endOfTurn();
    else if (what === 'round trip') await store.roundTrip();
    else if (what === 'time') await elapse(random.between(1, 30));
    else if (what === 'lull') await this.lull();
    else blockEventLoop(random.between(5, 70));
  }

  private async lull(): Promise<void> {
    const { history, store } = this;
    const from = history.now();
    await elapse(2 + 8 * store.delay);
    // Time also passes while the event loop is blocked, and nothing is sent meanwhile.
    for (let trip = 0; trip < 3; trip++) await store.roundTrip();
    history.lulls.push({ from, to: history.now() });
  }

  private async break(): Promise<void> {
    const { history, random } = this;
    const span = { from: history.now(), to: Infinity };
    history.breaks.push(span);
    await random.pick(this.apps).locks.forceRelease(this.key).catch(closedOnly);
    await elapse(10 + 8 * this.store.delay);
    span.to = history.now();
  }

  private async close(): Promise<void> {
    this.ending = this.random.between(0, this.apps.length - 1);
    await this.apps[this.ending]?.close();
  }

  private async call(): Promise<void> {
    const { random, history, mix } = this;
    // One has as many as the others together, so that there is much to hand on inside it.
    const number = random.chance(0.4) ? 0 : random.between(0, this.apps.length - 1);
    const app = this.apps[number];
    if (app === undefined) throw new Error('there is no such application');
    const limit = random.pick(mix.limits);
    const patience = mix.isPatient === true ? 'long' : this.patience();
    const leave = new AbortController();
    const leaseTime = random.chance(0.15) ? 20_000 : undefined;
    const holdAtLeast = random.chance(0.1) ? random.between(1, 60) : 0;
    const waitTime = patience === 'none' ? 0 : patience === 'short' ? random.between(1, 40) : 60_000;
    const options: LockOptions = {
      ...(limit === Infinity ? { mode: 'shared' } : { limit }),
      ...(patience === 'few' && { maxWaiting: random.between(0, 4) }),
      waitTime,
      leaseTime,
      holdAtLeast,
      fair: random.chance(mix.fair),
      label: random.chance(0.2) ? `label ${random.between(1, 9)}` : undefined,
      signal: leave.signal,
    };
    const section = random.pick(['empty', 'turn', 'round trip', 'time', 'time', 'block']);
    const length = random.between(1, section === 'block' ? 40 : 20);
    if (patience === 'signal') void this.leave(leave, random.between(0, 6));
    const call: Call = {
      app: number,
      limit,
      holdAtLeast,
      isPatient: patience === 'long',
      isInLine: waitTime > 0 && patience !== 'few',
      calledAt: history.now(),
      grantedAt: Infinity,
      grantedTime: Infinity,
      token: NaN,
      endedAt: Infinity,
      endedTime: Infinity,
      outcome: 'waits',
    };
    history.calls.push(call);
    try {
      const handle = await app.locks.acquire(this.key, options);
      Object.assign(call, { outcome: 'holds', grantedAt: history.now(), token: handle.token });
      call.grantedTime = this.timeOf(app, handle.token);
      await this.pass(section, length);
      await this.end(call, handle);
    } catch (error) {
      call.outcome = outcomeOf(error);
      call.endedAt = history.now();
    }
  }

  private patience(): 'long' | 'short' | 'signal' | 'none' | 'few' {
    return this.random.weighted([
      [6, 'long'],
      [3, 'short'],
      [2, 'signal'],
      [1, 'none'],
      [1, 'few'],
    ] as const);
  }

  private async end(call: Call, handle: LockHandle): Promise<void> {
    const wasLost = handle.signal.aborted;
    call.endedAt = this.history.now();
    call.endedTime = Date.now();
    const outcome = await handle.release();
    call.outcome = wasLost || outcome !== 'released' ? 'lost' : 'released';
  }

  /** When the hold began; what noted it here may have come later. */
  private timeOf(app: LockApp, token: number): number {
    return app.events('granted', this.key).find((event) => event.token === token)?.at ?? NaN;
  }

  private async pass(section: string, length: number): Promise<void> {
    if (section === 'turn') await endOfTurn();
    else if (section === 'round trip') await this.store.roundTrip();
    else if (section === 'time') await elapse(length);
    else if (section === 'block') blockEventLoop(length);
  }

  private async leave(leaving: AbortController, turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) await (turn % 2 === 0 ? this.store.roundTrip() : endOfTurn());
    leaving.abort(new GaveUp());
  }
}

function outcomeOf(error: unknown): Call['outcome'] {
  if (error instanceof GaveUp) return 'gave up';
  if (error instanceof LockClosedError) return 'closed';
  const refusals = [LockTimeoutError, LockQueueFullError, LockUnavailableError];
  if (refusals.some((kind) => error instanceof kind)) return 'refused';
  throw error;
}

function closedOnly(error: unknown): void {
  if (!(error instanceof LockClosedError)) throw error;
}
