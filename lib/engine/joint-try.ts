import type { ResolvedLockOptions } from '../lock.options.js';
import {
  LockStoreError,
  type AskRequest,
  type Grant,
  type MonotonicMs,
  type OwnerId,
} from '../stores/lock-store.js';
import { Acquisition } from './acquisition.js';
import { later } from './clock.js';
import type { Hold } from './hold.js';
import { GRACE } from './key-queue.js';
import type { LockEngine } from './lock-engine.js';
import { begin } from './single-try.js';
import { storeFailure } from './store-failure.js';
import { Wait } from './wait.js';

/** Asks the store for several locks in one request; undefined when each has to be asked for by itself. */
export async function takeTogether(
  engine: LockEngine,
  keys: readonly string[],
  options: ResolvedLockOptions,
  startedAt: MonotonicMs,
): Promise<readonly Hold[] | undefined> {
  const isPossible = engine.session.takeAll !== undefined && !engine.isClosing;
  // Callers of this process come first where they wait, and the store can't grant what one of them holds.
  if (!isPossible || keys.some((key) => engine.isInUse(key))) return undefined;
  const attempt = new JointTry(engine, keys, options, startedAt);
  engine.track(attempt.run());
  return await attempt.outcome;
}

/** What is asked for one key. */
interface Part {
  readonly caller: Acquisition;
  readonly owner: OwnerId;
}

/** One caller's request for several locks. */
class JointTry {
  private readonly parts: readonly Part[];
  private readonly wait: Wait<readonly Hold[] | undefined>;

  constructor(
    private readonly engine: LockEngine,
    keys: readonly string[],
    options: ResolvedLockOptions,
    startedAt: MonotonicMs,
  ) {
    this.parts = keys.map((key) => {
      return { caller: new Acquisition(engine, key, options, startedAt), owner: engine.nextOwner() };
    });
    let prolonged = false;
    this.wait = new Wait(engine, startedAt, options, (wait, why) => {
      if (why === 'aborted') wait.fail(wait.abortReason);
      else if (prolonged) this.fail(undefined);
      else {
        // Time for the answer, which may be on its way (B10).
        prolonged = true;
        wait.prolong(later(engine.clock.monotonic(), GRACE));
      }
    });
  }

  get outcome(): Promise<readonly Hold[] | undefined> {
    return this.wait.promise;
  }

  /** Resolves when nothing is under way any more. */
  async run(): Promise<void> {
    // Like any single request, the only one of `waitTime: 0` takes as long as it takes.
    if (this.wait.waitTime === 0) this.wait.listen();
    else this.wait.begin();
    try {
      await this.ask();
    } catch (error) {
      // A store of the user's may answer anything.
      const { message } = storeFailure(error);
      await this.failed(new LockStoreError(message, { inDoubt: true, retryable: false, cause: error }));
    }
  }

  private async ask(): Promise<void> {
    const { engine, parts, wait } = this;
    const sentAt = engine.leases.sendingAt();
    let grants: readonly Grant[] | null | undefined;
    try {
      grants = await engine.session.takeAll?.(parts.map(requestFor));
    } catch (error) {
      await this.failed(storeFailure(error));
      return;
    }
    engine.reports.storeAnswered();
    if (grants === null || grants === undefined) {
      wait.succeed(undefined);
      return;
    }
    const tooLate = parts.some(({ caller }) => engine.leases.mayBeOver(sentAt, caller.lease));
    if (tooLate || engine.isClosing || wait.isSettled) {
      await this.withdraw(false);
      wait.succeed(undefined);
      return;
    }
    const granted = grants.flatMap((grant, index) => {
      const part = parts[index];
      return part === undefined ? [] : [{ ...part, grant }];
    });
    if (granted.length < parts.length) throw new TypeError('it granted some of the locks only');
    // A listener that hears of a grant and aborts the wait comes too late.
    wait.stop();
    for (const { caller, owner, grant } of granted) begin(engine, caller, owner, sentAt, grant);
    wait.succeed(await Promise.all(parts.map(({ caller }) => caller.promise)));
  }

  /** Asking again, key by key, is for what can get through, and for callers who wait. */
  private async failed(failure: LockStoreError): Promise<void> {
    if (!failure.retryable || this.wait.waitTime === 0) this.fail(failure);
    else this.wait.succeed(undefined);
    if (failure.inDoubt) await this.withdraw(true);
  }

  private fail(failure: LockStoreError | undefined): void {
    const { engine, wait, parts } = this;
    if (wait.isSettled) return;
    const waitedFor = engine.clock.monotonic() - wait.startedAt;
    wait.fail(engine.reports.unavailable(parts[0]?.caller.key ?? '', failure, waitedFor));
  }

  private async withdraw(inDoubt: boolean): Promise<void> {
    const { engine, parts } = this;
    await Promise.all(parts.map(({ caller, owner }) => engine.withdraw(caller.key, owner, inDoubt)));
  }
}

function requestFor({ caller, owner }: Part): AskRequest {
  const { key, lease, limit, label } = caller;
  const atOnce = { claimLease: lease, wait: false, callers: 1, tokens: 1, contended: false };
  return { key, owner, lease, ...atOnce, limit, label };
}
