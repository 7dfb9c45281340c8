import { afterEach, describe, expect, it } from '@jest/globals';
import { TimerQueue } from '../../lib/common/timer-queue.js';
import type { AcquireReply, AcquireRequest, MonotonicMs, OwnerId } from '../../lib/stores/port/lock-store.js';
import { KeyedSerialQueue, PendingAcquires } from '../../lib/stores/etcd/locks/turns.js';
import type { LockContext } from '../../lib/stores/etcd/locks/context.js';
import { Releaser } from '../../lib/stores/etcd/locks/releaser.js';
import { within } from '../support/until.js';

const QUEUED: AcquireReply = { outcome: 'queued', holderLeaseLeft: 30_000 };
const ended: (() => void)[] = [];

afterEach(() => {
  for (const end of ended.splice(0)) end();
});

/** A session that holds the lock, a log of what it did, and a request whose reply comes when the test calls `answer`. */
function scene() {
  const timers = new TimerQueue({ monotonic: () => performance.now() as MonotonicMs }, false);
  ended.push(() => timers.close());
  const done: string[] = [];
  const entry = { isHeld: true };
  const ownEntries = {
    get: () => entry,
    hasExpired: () => false,
    delete: () => Promise.resolve(done.push('released') > 0),
  };
  const turns = new KeyedSerialQueue();
  const asks = new PendingAcquires();
  const waited = { remove: () => undefined };
  const context = { turns, timers, own: ownEntries, waited, acquires: asks };
  const releaser = new Releaser(context as unknown as LockContext);
  let answer: () => void = () => undefined;
  const answered = new Promise<AcquireReply>((resolve) => {
    answer = () => {
      done.push('answered');
      resolve(QUEUED);
    };
  });
  const ask = (request: Partial<AcquireRequest>, isNew = true): AcquireRequest => {
    const whole = {
      key: 'key',
      owner: 'me:2' as OwnerId,
      wait: true,
      limit: 1,
      ...request,
    } as AcquireRequest;
    void asks.track(whole, isNew, () => turns.run('key', () => answered));
    return whole;
  };
  const send = (request: AcquireRequest): void => {
    done.push('place');
    asks.sent(request);
  };
  const release = () => releaser.release({ key: 'key', owner: 'me:1' as OwnerId, inDoubt: false });
  return { done, ask, send, release, answer: () => answer() };
}

describe('a release in etcd', () => {
  it('P20, P26: waits for the reply to an earlier queue request', async () => {
    const { done, ask, release, answer } = scene();
    ask({});
    const released = release();
    // Everything that needs no reply is done by then.
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual([]);
    answer();
    expect(await within(10_000, 'the release', released)).toBe('released');
    expect(done).toEqual(['answered', 'released']);
  });

  it('P20, P21: is sent together with a delayed queue request', async () => {
    const { done, ask, send, release } = scene();
    const place = ask({});
    const released = release();
    await new Promise((resolve) => setImmediate(resolve));
    await Promise.resolve().then(() => {
      send(place);
      // Requests of one tick are sent at its end, as one transaction.
      process.nextTick(() => done.push('flushed'));
    });
    expect(await within(10_000, 'the release', released)).toBe('released');
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(['place', 'released', 'flushed']);
  });

  it('P20: does not confuse another request with the one that it waits for', async () => {
    const { done, ask, send, release, answer } = scene();
    const earlier = ask({ owner: 'me:0' as OwnerId });
    ask({});
    const released = release();
    send(earlier);
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(['place']);
    answer();
    expect(await released).toBe('released');
  });

  it('P20: does not wait forever if that request gets no reply', async () => {
    const { done, ask, release } = scene();
    ask({});
    expect(await within(10_000, 'the release', release())).toBe('released');
    expect(done).toEqual(['released']);
  });

  it.each([
    ['a permit', { limit: 4 }, true],
    ['a single attempt', { wait: false }, true],
    ['a queue position that exists', {}, false],
    ['another lock', { key: 'another' }, true],
  ])('does not wait for the reply about %s', async (_what, request, isNew) => {
    const { done, ask, release, answer } = scene();
    ask(request, isNew);
    const released = release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toEqual(['released']);
    answer();
    expect(await released).toBe('released');
  });
});
