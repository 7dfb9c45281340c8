import type { AskReply } from '../stores/lock-store.js';
import type { Acquisition } from './acquisition.js';
import { deadlineOf } from './clock.js';
import type { KeyQueue } from './key-queue.js';
import type { LockEngine } from './lock-engine.js';
import { storeFailure } from './store-failure.js';

/** `waitTime: 0`: one request, no place in any queue. Whatever the store does, the caller hears of it. */
export async function tryOnce(
  engine: LockEngine,
  caller: Acquisition,
  queue: KeyQueue | undefined,
): Promise<void> {
  try {
    await ask(engine, caller, queue);
  } catch (error) {
    caller.fail(engine.reports.unavailable(caller.key, storeFailure(error)));
  }
}

async function ask(engine: LockEngine, caller: Acquisition, queue: KeyQueue | undefined): Promise<void> {
  const { key, lease } = caller;
  // Callers of this process are before us, and the store keeps them waiting.
  if (queue?.isKnownBusy === true) {
    caller.fail(engine.reports.timedOut(caller, queue.holderLeaseLeft));
    return;
  }
  caller.onGivenUp = () => {
    caller.fail(caller.abortReason);
  };
  caller.listen();
  const owner = engine.nextOwner();
  const sentAt = engine.clock.monotonic();
  let reply: AskReply;
  try {
    reply = await engine.ask({
      key,
      owner,
      lease,
      claimLease: lease,
      wait: false,
      callers: 1,
      tokens: 1,
      contended: false,
    });
  } catch (error) {
    const failure = storeFailure(error);
    if (failure.inDoubt) void engine.withdraw(key, owner, true);
    caller.fail(engine.reports.unavailable(key, failure));
    return;
  }
  engine.reports.storeAnswered();
  if (reply.outcome !== 'granted') {
    caller.fail(
      engine.reports.timedOut(caller, reply.outcome === 'busy' ? reply.holderLeaseLeft : undefined),
    );
    return;
  }
  const now = engine.clock.monotonic();
  const deadline = deadlineOf(sentAt, lease);
  if (deadline <= now || engine.isClosing || caller.isSettled) {
    await engine.withdraw(key, owner, false);
    if (caller.isSettled) return;
    const closed = engine.isClosing;
    caller.fail(
      closed ? engine.reports.closed(key) : engine.reports.unavailable(key, undefined, now - sentAt),
    );
    return;
  }
  const { token, since } = reply;
  const fixedLease = caller.leaseTime;
  const terms = { key, owner, token, since, startedAt: sentAt, deadline, fixedLease };
  const granted = engine.leases.open({ ...terms, inDoubt: false, unclaimed: false });
  engine.handOver(granted, caller);
  engine.adopt(granted, caller.fair);
}
