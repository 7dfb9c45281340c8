import { inspect } from 'node:util';
import type { LockHandle, ReleaseOutcome } from '../model/lock-handle.js';
import type { LockLostError } from '../model/lock.errors.js';
import { checkReceiver, checkTime } from '../model/option-checks.js';
import { allSent } from '../stores/port/forwarding-session.js';
import type { CallSite } from './report/call-site.js';
import type { Hold, HoldContext } from './hold.js';
import { extendOrThrow } from './extend.js';
import { runInScope, type ScopeOwner } from './scope.js';
import { traceHold } from './report/traces.js';

/** From the best outcome to the worst. */
const OUTCOMES: readonly ReleaseOutcome[] = ['released', 'kept', 'unknown', 'expired'];

/** Holds of several keys that were acquired together: one hold for the user. */
export class MultiHold implements ScopeOwner {
  readonly key: string;
  readonly keys: readonly string[];
  readonly token: number;
  readonly tokens: ReadonlyMap<string, number>;
  readonly acquiredAt: number;

  private outcome: Promise<ReleaseOutcome> | undefined;
  private controller: AbortController | undefined;

  /**
   * The last four are those of the call, since one of the keys may be a re-entry.
   *
   * @param first the hold of the first key
   * @param holds all of them, in the order of their keys
   */
  constructor(
    readonly engine: HoldContext,
    first: Hold,
    private readonly holds: readonly Hold[],
    readonly operation: string,
    readonly label: string | undefined,
    readonly limit: number,
    readonly permits: number,
  ) {
    this.key = first.key;
    this.token = first.token;
    this.keys = holds.map(({ key }) => key);
    this.tokens = new Map(holds.map(({ key, token }) => [key, token]));
    this.acquiredAt = Math.max(...holds.map(({ acquiredAt }) => acquiredAt));
  }

  /** The caller receives the handle and must release it. */
  open(site: CallSite): void {
    for (const hold of this.holds) hold.open(site);
  }

  holdOf(key: string): Hold | undefined {
    return this.holds.find((hold) => hold.key === key);
  }

  get local(): boolean {
    return this.holds.some(({ local }) => local);
  }

  get signal(): AbortSignal {
    this.controller ??= this.firstLoss();
    return this.controller.signal;
  }

  get isHeld(): boolean {
    return this.holds.every(({ isHeld }) => isHeld);
  }

  /** Whether any of the holds has ended. */
  get isOver(): boolean {
    return this.holds.some(({ isOver }) => isOver);
  }

  get remaining(): number {
    return Math.min(...this.holds.map(({ remaining }) => remaining));
  }

  /** Ends the holds whose leases have run out; returns the loss, if one of the keys was lost before it was released. */
  expire(): LockLostError | undefined {
    return this.holds.map((hold) => hold.expire()).find((lost) => lost !== undefined);
  }

  assertHeld(): void {
    for (const hold of this.holds) hold.assertHeld();
  }

  async extend(ms: number): Promise<void> {
    checkReceiver(this, 'extend', 'handle', 'handle');
    const lease = checkTime('extend()', 'ms', ms, { min: 1 });
    const good = this.holds.filter(({ isOver }) => !isOver);
    if (good.length > 0) await extendOrThrow(this.engine, good, lease);
    for (const hold of this.holds) hold.assertGood();
  }

  async run<T>(fn: (lock: LockHandle) => Promise<T> | T): Promise<T> {
    checkReceiver(this, 'run', 'handle', 'handle');
    this.assertHeld();
    return await traceHold(this.engine.instance, this, () => runInScope(this, fn));
  }

  release(): Promise<ReleaseOutcome> {
    checkReceiver(this, 'release', 'handle', 'handle');
    this.outcome ??= this.end();
    return this.outcome;
  }

  /**
   * Releases all without waiting for the replies. Resolves when the requests have been sent; undefined if they
   * already were.
   */
  sendRelease(): Promise<unknown> | undefined {
    void this.release();
    const { session } = this.engine;
    return allSent(this.keys.map((key) => session.whenSent?.(key)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** What logs and JSON show of the hold. */
  toJSON(): object {
    const { keys, isHeld, remaining, acquiredAt } = this;
    return { keys, tokens: Object.fromEntries(this.tokens), isHeld, remaining, acquiredAt };
  }

  [inspect.custom](): string {
    const { tokens, isHeld, remaining } = this;
    return `LockHandle ${inspect({ tokens, isHeld, remaining })}`;
  }

  private async end(): Promise<ReleaseOutcome> {
    const outcomes = await Promise.all([...this.holds].reverse().map((hold) => hold.release()));
    return outcomes.reduce((worst, each) =>
      OUTCOMES.indexOf(each) > OUTCOMES.indexOf(worst) ? each : worst,
    );
  }

  /** Aborts with the first loss of a key. */
  private firstLoss(): AbortController {
    const controller = this.engine.reporter.signalController(() => void this.expire());
    for (const { signal } of this.holds) {
      const lost = (): void => {
        controller.abort(signal.reason);
      };
      if (signal.aborted) lost();
      else signal.addEventListener('abort', lost, { once: true });
    }
    return controller;
  }
}
