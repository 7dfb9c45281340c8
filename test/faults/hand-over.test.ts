import { describe, expect, it } from '@jest/globals';
import { LockLostError, LockUnavailableError } from '../../lib/index.js';
import { handOver, lineUp, patient } from '../support/hand-over.js';
import { latenessOfAbort } from '../support/lateness.js';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { elapse, next, rejectionOf, until, within } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';
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

  it('P20: 64 hand-overs cost the server at most six scripts', async () => {
    const cost = await costOf(64);
    // The last release, and reservations: small ones at first, since one caller needs few tokens.
    expect(scripts(cost)).toBeLessThanOrEqual(6);
    for (const name of ['publish', 'subscribe', 'zadd']) expect(cost[name] ?? 0).toBe(0);
    await scene.nothingLeft();
  });

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
  const newKey = (): string => scene.key();

  for (const [how, wipe] of [
    ['FLUSHALL', () => scene.client.flushall()],
    ['DEL', (key: string) => scene.client.del(`lock:${key}`)],
  ] as const) {
    it(`F7, P20: ${how} under a hold that was handed over is reported to that hold, and tokens go on growing`, async () => {
      const [app, other] = [await scene.app({ watchdogTimeout: 6_000 }), await scene.app()];
      const { key, first, second, rest } = await handOver(app, other, { newKey, waiters: [{}, {}] });
      const signals = [first.signal, second.signal];
      await wipe(key);
      await until('the loss is known', () => signals[1]?.aborted, { deadline: 20_000 });
      expect(signals[1]?.reason).toMatchObject({ code: 'LOCK_LOST', keys: [key] });
      expect(signals[0]?.aborted).toBe(false);
      expect(app.events('lost', key).map(({ token }) => token)).toEqual([second.token]);
      expect(await second.release()).toBe('expired');
      const third = await within(20_000, 'the next in line', rest[0] ?? Promise.reject(new Error()));
      expect(third.token).toBeGreaterThan(second.token);
      expect(third.isHeld).toBe(true);
      await third.release();
      await scene.nothingLeft();
    });
  }

  it('F7, P20: a release that finds another holder ends local hand-over', async () => {
    const [app, other] = [await scene.app({ watchdogTimeout: 6_000 }), await scene.app()];
    const { key, first } = await handOver(app, other, { newKey, waiters: [{}, { waitTime: 1 }] });
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
        newKey,
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

  /** A holder that loses its lock without notice, while two callers wait behind it with a queue position. */
  async function lostAhead(signals: { next?: AbortSignal; last?: AbortSignal }) {
    const [app, other] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const first = await app.locks.acquire(key, patient);
    const next = app.locks.acquire(key, { ...patient, signal: signals.next });
    const last = app.locks.acquire(key, { ...patient, signal: signals.last });
    last.catch(() => undefined);
    await until('the process stands in the queue', async () => {
      return (await scene.client.keys('lock:@:queue:*')).length === 1;
    });
    // The next request for the position detects the loss, long before the next renewal.
    const lose = (): Promise<unknown> => scene.client.del(`lock:${key}`);
    return { app, other, key, first, next, last, lose };
  }

  it('F7, P20: the next holder has the lock, even if another caller gives up at the moment the former holder detects its loss', async () => {
    const abort = new AbortController();
    const { app, other, key, first, next, last, lose } = await lostAhead({ last: abort.signal });
    first.signal.addEventListener('abort', () => abort.abort('enough'));
    await lose();
    const second = await within(5_000, 'the next in line', next);
    expect(await rejectionOf(last)).toBe('enough');
    expect(second.isHeld).toBe(true);
    expect(await other.locks.tryAcquire(key)).toBeNull();
    expect(await second.release()).toBe('released');
    const types = app.seen.filter((event) => event.key === key).map(({ type }) => type);
    expect(types.slice(-4)).toEqual(['lost', 'granted', 'aborted', 'released']);
    await scene.nothingLeft();
  });

  it('F7, F24: no caller loses the lock because another gives up when the former holder detects its loss', async () => {
    const abort = new AbortController();
    const { first, next, last, lose } = await lostAhead({ next: abort.signal });
    first.signal.addEventListener('abort', () => abort.abort('enough'));
    await lose();
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

  it('F20, P20: when a process is killed during a handed-over hold, the lock is free after at most its lease', async () => {
    const watchdogTimeout = 1_500;
    const settings = { redis: scene.url, watchdogTimeout };
    const worker = scene.until(await WorkerProcess.start(settings));
    const app = await scene.app();
    const key = scene.key();
    const first = await worker.do('acquire', { key, as: 'first' });
    const reserved = worker.event('renewed');
    const second = worker.do('acquire', { key, as: 'second', options: patient });
    await reserved;
    await worker.do('release', { as: 'first' });
    expect(await second).toBeGreaterThan(first);
    await worker.kill();
    const took = stopwatch();
    const handle = await app.locks.acquire(key, patient);
    expect(took()).toBeLessThan(watchdogTimeout + 1_000);
    expect(handle.token).toBeGreaterThan(await second);
    await handle.release();
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

  it('B10, P20: waiters that give up behind a hold of their own process leave nothing behind', async () => {
    const [app, other] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const held = await app.locks.acquire(key);
    const start = performance.now();
    const waits = [10, 30, 70, 150].map((waitTime) => app.locks.tryAcquire(key, { waitTime }));
    await queuedIn(app, key);
    expect(await Promise.all(waits)).toEqual([null, null, null, null]);
    expect(performance.now() - start).toBeGreaterThanOrEqual(149);
    await until('no caller waits', async () => (await other.admin.inspect(key))?.waiting === 0);
    expect(held.isHeld).toBe(true);
    const freed = next(app.locks.events, ({ type }) => type === 'released');
    await held.release();
    await freed;
    await scene.nothingLeft();
  });
});
