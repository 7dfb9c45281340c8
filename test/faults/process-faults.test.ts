import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FencedRegister } from '../support/exclusion-witness.js';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { elapse, within } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';
import { RedisScene } from './redis-scene.js';

describe.each([0, 40])('faults of processes, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  const worker = async (settings: { watchdogTimeout?: number } = {}): Promise<WorkerProcess> =>
    scene.until(await WorkerProcess.start({ redis: scene.url, shutdownTimeout: 200, ...settings }));

  it('F21: ten killed waiters do not cost ten claim leases', async () => {
    const [holder, last] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const handle = await holder.locks.acquire(key);
    const options = { redis: scene.url };
    const dying = await Promise.all([1, 2].map(async () => scene.until(await WorkerProcess.start())));
    await Promise.all(dying.map((process) => process.do('queueAs', { key, sessions: 5, options })));
    const waiting = last.locks.acquire(key, { waitTime: 30_000 });
    await queuedIn(last, key);
    expect((await holder.admin.inspect(key))?.waiting).toBe(11);
    await Promise.all(dying.map((process) => process.kill()));
    await handle.release();
    const took = stopwatch();
    const got = await waiting;
    // One claim lease lasts two seconds.
    expect(took()).toBeLessThan(2_500);
    await got.release();
    // Killed waiters keep their queue positions until they have missed three polls.
    await scene.nothingLeft(8_000);
  });

  it('F22: a holder that was stopped for longer than its lease knows so in its next statement, and its write is rejected', async () => {
    const [holder, app] = [await worker({ watchdogTimeout: 1_200 }), await scene.app()];
    const key = scene.key();
    const register = new FencedRegister();
    const token = await holder.do('acquire', { key });
    expect(register.write(token, 'from the first')).toBe('written');
    const looking = holder.do('computeUntilStopped', { as: key, gap: 500, deadline: 20_000 });
    await holder.event('computing');
    holder.stop();
    const second = await app.locks.acquire(key, { waitTime: 15_000 });
    expect(register.write(second.token, 'from the second')).toBe('written');
    holder.resume();
    const seen = await within(10_000, 'the holder to look', looking);
    expect(seen).toMatchObject({ isHeld: false, remaining: 0, asserted: 'LOCK_LOST', token });
    expect(register.write(seen.token, 'from a ghost')).toBe('refused');
    expect(register.value).toBe('from the second');
    expect(await holder.do('release', { as: key })).toBe('expired');
    expect(second.isHeld).toBe(true);
    await second.release();
    await scene.nothingLeft();
  });

  it('processes that are stopped, continued and killed at random never hold the lock at the same time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lock-witness-'));
    const witness = join(directory, 'inside');
    try {
      const key = scene.key();
      const loop = { key, options: { waitTime: 20_000 }, name: 'loop', work: 3, witness };
      const [steady, other, paused] = await Promise.all([worker(), worker(), worker()]);
      const victim = await worker({ watchdogTimeout: 1_000 });
      const looping = [steady, other, paused].map((process) => process.do('loop', loop));
      // Queued and stopped repeatedly; its lease of 30 s outlasts every pause.
      for (let round = 0; round < 6; round++) {
        await elapse(60);
        paused.stop();
        await elapse(60);
        paused.resume();
      }
      await victim.do('acquire', { key, options: { waitTime: 20_000 } });
      await victim.kill();
      await elapse(2_500);
      for (const process of [steady, other, paused]) await process.do('stopLoop', { name: 'loop' });
      const reports = await Promise.all(looping);
      for (const report of reports) {
        expect(report.errors).toEqual([]);
        expect(report.overlaps).toBe(0);
        expect(report.rounds).toBeGreaterThan(0);
      }
      const tokens = reports.flatMap((report) => report.tokens);
      expect(new Set(tokens).size).toBe(tokens.length);
      for (const process of [steady, other, paused]) expect(process.unhandled).toEqual([]);
      await scene.nothingLeft();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('F51: a process exits on its own after app.close(), whatever it did before', async () => {
    const [idle, busy, other] = [await worker(), await worker({ watchdogTimeout: 1_000 }), await scene.app()];
    const [key, held] = [scene.key(), scene.key()];
    expect(await idle.closeAndExit()).toBe(0);

    const theirs = await other.locks.acquire(held);
    await busy.do('acquire', { key });
    await busy.do('acquire', { key: scene.key(), options: { leaseTime: 500 } });
    await busy.event('lost');
    await expect(busy.do('acquire', { key: held, options: { waitTime: 50 } })).rejects.toMatchObject({
      code: 'LOCK_TIMEOUT',
    });
    const waiting = busy.do('acquire', { key: held, options: { waitTime: 20_000 } });
    const refused = expect(waiting).rejects.toMatchObject({ code: 'LOCK_CLOSED' });
    expect(await busy.closeAndExit()).toBe(0);
    await refused;
    expect(busy.unhandled).toEqual([]);
    await theirs.release();
  });

  it('F51: it also exits while the server is down', async () => {
    const proxy = await scene.proxy();
    const process = scene.until(await WorkerProcess.start({ redis: proxy.url, shutdownTimeout: 200 }));
    await process.do('acquire', { key: scene.key() });
    await proxy.refuse();
    proxy.cut();
    const took = stopwatch();
    expect(await process.closeAndExit()).toBe(0);
    // ioredis keeps a timer of 2 s for each connection that is down.
    expect(took()).toBeLessThan(1_500);
  });
});
