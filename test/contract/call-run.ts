import { randomInt } from 'node:crypto';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import {
  LockClosedError,
  LockConflictError,
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

/** The options of the callers of one key. */
export interface CallMix {
  /** Each caller has one of these limits. */
  readonly limits: readonly number[];
  /** Whether some of them conflict. */
  readonly isMixed?: boolean;
  /** The numbers of permits that callers of a semaphore take; 1 if left out. */
  readonly permits?: readonly number[];
  /** The fraction of callers with `fair: true`, 0 … 1. */
  readonly fair: number;
  /** Whether no caller gives up: one that does leaves its queue position to the next caller of its application. */
  readonly isPatient?: boolean;
  /** Whether the lock is broken by force now and then. */
  readonly isBroken?: boolean;
  /** Whether one of the applications closes during the run. */
  readonly isClosed?: boolean;
}

/** What the run needs to know about the store. */
interface Surroundings {
  /** Round trip of a request, including injected delays, ms. */
  readonly delay: number;
  roundTrip(): Promise<unknown>;
}

/** The abort reason of a call that gave up. */
class GaveUp extends Error {}

/** Many random callers of one key, from several applications, with every option on which they may differ. */
export class CallRun {
  readonly history = new CallHistory();
  private readonly random: Random;
  private readonly work: Promise<void>[] = [];
  /** The number of the application that closes. */
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

  /** Resolves when this many callers have arrived and all have an outcome. */
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

  /** What happens in the process between two calls. */
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
    // Time also passes while the event loop is blocked; nothing is sent then.
    for (let trip = 0; trip < 3; trip++) await store.roundTrip();
    history.lulls.push({ from, to: history.now() });
  }

  private async break(): Promise<void> {
    const { history, random } = this;
    const span = { from: history.now(), to: Infinity };
    history.breaks.push(span);
    await random.pick(this.apps).admin.forceRelease(this.key).catch(closedOnly);
    await elapse(10 + 8 * this.store.delay);
    span.to = history.now();
  }

  private async close(): Promise<void> {
    this.ending = this.random.between(0, this.apps.length - 1);
    await this.apps[this.ending]?.close();
  }

  private async call(): Promise<void> {
    const { random, history, mix } = this;
    // One application has as many callers as all others together, so that local hand-overs are frequent.
    const number = random.chance(0.4) ? 0 : random.between(0, this.apps.length - 1);
    const app = this.apps[number];
    if (app === undefined) throw new Error('there is no such application');
    const limit = random.pick(mix.limits);
    const permits = mix.permits === undefined ? 1 : random.pick(mix.permits);
    const patience = mix.isPatient === true ? 'long' : this.patience();
    const leave = new AbortController();
    const leaseTime = random.chance(0.15) ? 20_000 : undefined;
    // Callers with another limit would be rejected until then.
    const holdAtLeast = mix.isMixed !== true && random.chance(0.1) ? random.between(1, 60) : 0;
    const waitTime = patience === 'none' ? 0 : patience === 'short' ? random.between(1, 40) : 60_000;
    const options: LockOptions = {
      ...(limit === Infinity ? { mode: 'shared' } : { limit, permits }),
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
      permits,
      holdAtLeast,
      isPatient: patience === 'long',
      isQueued: waitTime > 0 && patience !== 'few',
      calledAt: history.now(),
      grantedAt: Infinity,
      grantedTime: Infinity,
      token: NaN,
      endedAt: Infinity,
      endedTime: Infinity,
      releasedAt: Infinity,
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
    call.releasedAt = this.history.now();
    call.outcome = wasLost || outcome !== 'released' ? 'lost' : 'released';
  }

  /** When the hold began; the callback that records it may run later. */
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
  if (error instanceof LockConflictError) return 'conflict';
  const refusals = [LockTimeoutError, LockQueueFullError, LockUnavailableError];
  if (refusals.some((kind) => error instanceof kind)) return 'refused';
  throw error;
}

function closedOnly(error: unknown): void {
  if (!(error instanceof LockClosedError)) throw error;
}
