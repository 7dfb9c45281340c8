import { describe, expect, it, jest } from '@jest/globals';
import { LockHealthIndicator, type LockHealthThresholds } from '../../../lib/health/index.js';
import { LockOptionsError } from '../../../lib/index.js';
import { FakeLeaderElection, FakeLockService } from '../../../lib/testing/index.js';
import { rejectionOf, until } from '../../support/until.js';

/** O15, with time that the test controls. */
describe('O15: LockHealthIndicator', () => {
  const sceneOf = () => {
    const locks = new FakeLockService({ frozen: true });
    const { admin } = locks;
    const indicator = new LockHealthIndicator(admin);
    const healthOf = async (thresholds: LockHealthThresholds = {}) =>
      (await indicator.isHealthy('locks', thresholds)).locks;
    return { locks, admin, indicator, healthOf };
  };

  it('up: reports the store and the numbers of holds and waiters', async () => {
    const { locks, admin, indicator } = sceneOf();
    const handle = await locks.acquire('order:secret');
    const waiting = locks.acquire('order:secret');
    await until('it waits', () => admin.status().waiters === 1);
    expect(await indicator.isHealthy('locks')).toEqual({
      locks: {
        status: 'up',
        reasons: [],
        store: 'the memory of a test',
        reachable: true,
        local: false,
        holds: 1,
        waiters: 1,
      },
    });
    await handle.release();
    await (await waiting).release();
  });

  it('degraded, not down, until the store has been unreachable for unreachableFor', async () => {
    const { locks, healthOf } = sceneOf();
    locks.setUnavailable();
    const health = await healthOf({ degradedStatus: 'degraded', unreachableFor: 60_000 });
    expect(health).toMatchObject({ status: 'degraded', reachable: false });
    expect(health.reasons).toEqual([expect.stringMatching(/^the memory of a test did not reply: /)]);
    expect(await healthOf({ unreachableFor: 60_000 })).toMatchObject({
      status: 'up',
      reasons: health.reasons,
    });
  });

  it('down when the store has been unreachable for unreachableFor, and up when it replies again', async () => {
    const { locks, healthOf } = sceneOf();
    locks.setUnavailable();
    const health = await healthOf({ unreachableFor: 0 });
    expect(health).toMatchObject({ status: 'down', reachable: false });
    expect(health.reasons).toEqual([
      expect.stringMatching(/^the memory of a test has been unreachable for /),
    ]);
    locks.setAvailable();
    expect(await healthOf({ unreachableFor: 0 })).toMatchObject({ status: 'up', reasons: [] });
  });

  it('degraded when a renewal has failed for half of a lease, and not before', async () => {
    const { locks, admin, healthOf } = sceneOf();
    const handle = await locks.acquire('order:secret');
    locks.setUnavailable('order:secret');
    await locks.store.advance(14_000);
    expect(admin.held()).toMatchObject([{ renewalError: expect.any(Error) }]);
    expect(await healthOf()).toMatchObject({ status: 'up', reasons: [] });
    await locks.store.advance(2_000);
    expect(await healthOf({ degradedStatus: 'degraded' })).toMatchObject({
      status: 'degraded',
      reasons: ['1 hold could not be renewed for half of the lease'],
    });
    locks.setAvailable();
    await locks.store.advance(10_000);
    expect(await healthOf()).toMatchObject({ status: 'up', reasons: [] });
    await handle.release();
  });

  it('degraded for five minutes after a loss', async () => {
    const { locks, healthOf } = sceneOf();
    await locks.acquire('order:secret');
    await locks.acquire('order:other');
    await locks.lose('order:secret');
    await locks.lose('order:other');
    expect((await healthOf()).reasons).toEqual(['2 holds lost in the last 5 minutes']);
    await locks.store.advance(5 * 60_000);
    expect((await healthOf()).reasons).toEqual([]);
  });

  it('degraded by a hold and a wait beyond the thresholds', async () => {
    const { locks, admin, healthOf } = sceneOf();
    const handle = await locks.acquire('order:secret');
    const waiting = locks.acquire('order:secret', { waitTime: Infinity });
    await until('it waits', () => admin.status().waiters === 1);
    await locks.store.advance(2_000);
    expect(await healthOf({ longestHold: 2_000, longestWait: 2_000 })).toMatchObject({
      status: 'up',
      reasons: [],
    });
    expect((await healthOf({ longestHold: 1_999, longestWait: 1_999 })).reasons).toEqual([
      'a lock has been held for 2.0 s',
      'a call has waited for 2.0 s',
    ]);
    await handle.release();
    await (await waiting).release();
  });

  it('treats a store that does not reply as unreachable', async () => {
    const { admin, indicator } = sceneOf();
    // Neither a reply nor a failure.
    admin.probe = () => new Promise(() => undefined);
    const { locks: health } = await indicator.isHealthy('locks', { probeTimeout: 10, unreachableFor: 0 });
    expect(health).toMatchObject({ status: 'down', reachable: false });
    expect(health.reasons).toEqual([expect.stringMatching(/: timed out$/)]);
  });

  it('down by default at a check five seconds after the first unanswered one', async () => {
    const { admin, healthOf } = sceneOf();
    const { probe } = admin;
    admin.probe = () => new Promise(() => undefined);
    jest.useFakeTimers();
    try {
      const statuses = [];
      for (let check = 0; check < 7; check += 1) {
        const health = healthOf();
        await jest.advanceTimersByTimeAsync(1_000);
        statuses.push((await health).status);
      }
      expect(statuses).toEqual(['up', 'up', 'up', 'up', 'down', 'down', 'down']);
      admin.probe = probe;
      expect(await healthOf()).toMatchObject({ status: 'up', reachable: true, reasons: [] });
      admin.probe = () => new Promise(() => undefined);
      const again = healthOf();
      await jest.advanceTimersByTimeAsync(1_000);
      expect(await again).toMatchObject({ status: 'up', reachable: false });
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not treat a store with late replies as unreachable', async () => {
    const { admin, healthOf } = sceneOf();
    const { probe } = admin;
    jest.useFakeTimers();
    try {
      for (let check = 0; check < 10; check += 1) {
        admin.probe = () =>
          new Promise((resolve) => setTimeout(() => void probe.call(admin).then(resolve), 1_500));
        const health = healthOf();
        await jest.advanceTimersByTimeAsync(2_000);
        expect(await health).toMatchObject({ status: 'up', reachable: false });
      }
    } finally {
      jest.useRealTimers();
    }
  });

  it.each([
    [{ unreachableFor: -1 }, 'unreachableFor must be a number of milliseconds from 0'],
    [{ probeTimeout: 0 }, 'probeTimeout must be a number of milliseconds from 1'],
    [{ longestHold: '5s' }, 'longestHold must be a number of milliseconds'],
    [{ longestWait: NaN }, 'longestWait must be a number of milliseconds'],
    [{ degradedStatus: 'down' }, "degradedStatus must be 'up' or 'degraded'; got 'down'"],
    [{ elections: 'poller' }, 'elections must be an array of LeaderElection'],
    [{ unreachable: 5 }, 'unknown option "unreachable"'],
    [[], 'options must be an object'],
  ])('rejects %j', async (thresholds, message) => {
    const error = await rejectionOf(sceneOf().healthOf(thresholds as LockHealthThresholds));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toContain(`LockHealthIndicator.isHealthy(): ${message}`);
  });

  it('reports which of the given elections this process leads', async () => {
    const [led, other] = [new FakeLeaderElection('mail-poller'), new FakeLeaderElection('reports')];
    await led.elect();
    const { healthOf } = sceneOf();
    expect(await healthOf({ elections: [led, other] })).toMatchObject({
      status: 'up',
      leads: ['mail-poller'],
    });
    await led.revoke();
    expect(await healthOf({ elections: [led, other] })).toMatchObject({ status: 'up', leads: [] });
  });

  it('F67: is degraded while a method of a given election keeps throwing', async () => {
    const { healthOf } = sceneOf();
    const election = { name: 'mail-poller', isLeader: false, hasFailed: true };
    expect(await healthOf({ elections: [election], degradedStatus: 'degraded' })).toMatchObject({
      status: 'degraded',
      reasons: ['a method of this process for the election "mail-poller" threw'],
    });
  });

  it('rejects a result without a name', async () => {
    expect(await rejectionOf(sceneOf().indicator.isHealthy(''))).toBeInstanceOf(LockOptionsError);
  });
});
