import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../../lib/index.js';
import { handOver, lineUp, patient } from '../support/hand-over.js';
import { latenessOfAbort } from '../support/lateness.js';
import { elapse, rejectionOf, until, within } from '../support/until.js';
import { RedisScene, scripts } from './redis-scene.js';

describe('the cost of hand-over inside a process', () => {
  const scene = new RedisScene({ inVirtualTime: true });

  /** The commands that the server runs while this many callers of one process are served. */
  async function costOf(callers: number): Promise<Record<string, number>> {
    const app = await scene.app();
    const key = scene.key();
    const { first, waits } = await lineUp(app, key);
    const served = Array.from({ length: callers - 1 }, () =>
      app.locks.withLock(key, patient, () => undefined),
    );
    await scene.client.config('RESETSTAT');
    await first.release();
    await (await waits[0])?.release();
    await Promise.all(served);
    return scene.commandCounts();
  }

  it('P20: a thousand callers of one process cost one or two reservations for each 64', async () => {
    const cost = await costOf(1_000);
    expect(scripts(cost)).toBeLessThanOrEqual(40);
    // The lease stays idle while the store is asked whether other processes wait; it is released at the end.
    expect(cost['del']).toBe(1);
    await scene.nothingLeft();
  });

  it('P20, P7: short consecutive holds put no caller into the queue of the store', async () => {
    const app = await scene.app();
    const key = scene.key();
    await scene.client.config('RESETSTAT');
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 5 }, () => app.locks.withLock(key, patient, () => elapse(1))));
    }
    expect(await scene.commandCounts()).not.toHaveProperty('zadd');
    await scene.nothingLeft();
  });
});

// With a longer delay, most of the time for which a process may keep a lock from others is spent on the way.
describe.each([0, 10])('hand-over inside a process, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('F7, P20: a release that finds another holder ends local hand-over', async () => {
    const [app, other] = [await scene.app({ watchdogTimeout: 6_000 }), await scene.app()];
    const { key, first } = await handOver(app, other, {
      newKey: () => scene.key(),
      waiters: [{}, { waitTime: 1 }],
    });
    await scene.client.del(`lock:${key}`);
    const thief = await other.locks.acquire(key, { waitTime: 0 });
    expect(thief.token).toBeGreaterThan(first.token);
    await until('the loss is known', () => app.events('lost', key).length > 0, { deadline: 20_000 });
    expect(thief.isHeld).toBe(true);
    expect(app.events('lost', key)[0]).toMatchObject({ reason: 'taken' });
    await elapse(400);
    expect(thief.isHeld).toBe(true);
    expect(await thief.release()).toBe('released');
    await scene.nothingLeft();
  });

  it('B22, P20: a hold that was handed over ends at the deadline of its lease when the server stands still', async () => {
    let late = Infinity;
    for (let attempt = 0; attempt < 12 && late > 20; attempt++) {
      const [app, other] = [await scene.app({ watchdogTimeout: 1_000 }), await scene.app()];
      let deadline = 0;
      const { first, second } = await handOver(app, other, {
        newKey: () => scene.key(),
        meanwhile: async (holder) => {
          await elapse(20);
          deadline = performance.now() + holder.remaining;
        },
      });
      scene.server.stop();
      try {
        // A hand-over extends no lease: only a renewal with a reply does.
        const renewed = app.events('renewed', first.key).some(({ token }) => token === second.token);
        if (!renewed) expect(performance.now() + second.remaining).toBeLessThanOrEqual(deadline + 2);
        const lateness = await latenessOfAbort(second);
        expect(lateness.early).toBeLessThanOrEqual(20);
        late = lateness.late;
        expect(second.isHeld).toBe(false);
        expect(second.signal.reason).toBeInstanceOf(LockLostError);
        expect(first.signal.aborted).toBe(false);
      } finally {
        scene.server.resume();
      }
      await scene.client.ping();
    }
    expect(late).toBeLessThanOrEqual(20);
    await scene.nothingLeft();
  });
});

describe.each([0, 40])('waiters behind a hold of their own process, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('F7, F24: no caller loses the lock because another gives up when the former holder detects its loss', async () => {
    const app = await scene.app();
    const key = scene.key();
    const giveUp = new AbortController();
    const first = await app.locks.acquire(key, patient);
    const next = app.locks.acquire(key, { ...patient, signal: giveUp.signal });
    const last = app.locks.acquire(key, patient);
    await until('the process stands in the queue', async () => {
      return (await scene.client.keys('lock:@:queue:*')).length === 1;
    });
    first.signal.addEventListener('abort', () => giveUp.abort('enough'));
    // The next request for the position detects the loss, long before the next renewal.
    await scene.client.del(`lock:${key}`);
    // It had the lock already when its signal fired.
    const second = await within(5_000, 'the next in line', next);
    expect(second.isHeld).toBe(true);
    await second.release();
    await (await within(2_000, 'the last in line', last)).release();
    await scene.nothingLeft();
  });

  it('B17, P20: no hand-over from a lease whose deadline has passed', async () => {
    // A sixth of it is allowed for a request and its reply.
    const app = await scene.app({ watchdogTimeout: 1_500 });
    const key = scene.key();
    const { first, waits } = await lineUp(app, key, [{ waitTime: 4_500 }]);
    scene.server.stop();
    try {
      await until('the deadline has passed', () => !first.isHeld);
      expect(await first.release()).toBe('expired');
      expect(await rejectionOf(waits[0] ?? Promise.resolve())).toBeInstanceOf(LockUnavailableError);
      expect(app.events('granted', key)).toHaveLength(1);
    } finally {
      scene.server.resume();
    }
    await scene.nothingLeft();
  });

  it('F12, P20: reservations whose replies are lost delay no caller and issue no token twice', async () => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const tokens: number[] = [];
    const section = (lock: { token: number }): void => void tokens.push(lock.token);
    for (let round = 0; round < 6; round++) {
      const first = await app.locks.acquire(key, patient);
      section(first);
      // The next request for this lock is the reservation for the callers below.
      const lost = proxy.loseReply((request) => request.includes(key));
      const served = Array.from({ length: 10 }, () => app.locks.withLock(key, patient, section));
      await lost;
      await first.release();
      await within(6_000, 'the callers', Promise.all(served));
      await other.locks.withLock(key, patient, section);
    }
    expect(tokens).toHaveLength(6 * 12);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    await scene.nothingLeft();
  });
});
