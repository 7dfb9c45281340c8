import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '../support/until.js';
import { WorkerProcess, type SeenHold } from '../support/worker-process.js';
import { RedisScene } from './redis-scene.js';

const HOUR = 3_600_000;

describe('faults of the client’s wall clock', () => {
  const scene = new RedisScene();
  const workers: WorkerProcess[] = [];
  afterEach(() => {
    for (const { unhandled } of workers.splice(0)) expect(unhandled).toEqual([]);
  });

  async function worker(settings: { watchdogTimeout?: number } = {}): Promise<WorkerProcess> {
    const module = { redis: scene.server.url, shutdownTimeout: 200, ...settings };
    const process = scene.until(await WorkerProcess.start(module, { clock: true }));
    workers.push(process);
    return process;
  }

  const look = (holder: WorkerProcess, as: string): Promise<SeenHold> => holder.do('status', { as });
  const seen = (holder: WorkerProcess, type: string): number =>
    holder.events.filter((event) => event.type === type).length;

  const unsure = { isHeld: false, remaining: 0, aborted: false, asserted: 'LOCK_NOT_HELD' };
  const sure = { isHeld: true, aborted: false, asserted: 'held' };

  for (const leaseTime of [undefined, 20_000]) {
    const options = leaseTime === undefined ? {} : { leaseTime };
    const kind = leaseTime === undefined ? 'a hold' : 'a hold with a leaseTime';

    it(`F30: +1 h: ${kind} is kept, and isHeld is true again once a renewal confirms it`, async () => {
      const [holder, other] = [await worker(), await scene.app()];
      const key = scene.key();
      await holder.do('acquire', { key, options });
      const left = await scene.client.pttl(`lock:${key}`);
      holder.setClock(HOUR);
      expect(await look(holder, key)).toMatchObject(unsure);
      await until('isHeld is true again', async () => (await look(holder, key)).isHeld, { deadline: 2_000 });
      expect(await look(holder, key)).toMatchObject(sure);
      expect(seen(holder, 'renewed')).toBe(1);
      expect(await other.locks.tryAcquire(key)).toBeNull();
      if (leaseTime !== undefined) {
        expect(await scene.client.pttl(`lock:${key}`)).toBeLessThanOrEqual(left);
        expect((await look(holder, key)).remaining).toBeLessThanOrEqual(left);
      }
      expect(await holder.do('release', { as: key })).toBe('released');
      expect(seen(holder, 'lost')).toBe(0);
      const next = await other.locks.acquire(key);
      await next.release();
    });

    it(`F30: −1 h: nothing changes for ${kind}`, async () => {
      const [holder, other] = [await worker(), await scene.app()];
      const key = scene.key();
      await holder.do('acquire', { key, options });
      const before = await look(holder, key);
      holder.setClock(-HOUR);
      const after = await look(holder, key);
      expect(after).toMatchObject(sure);
      expect(after.remaining).toBeLessThanOrEqual(before.remaining);
      expect(await other.locks.tryAcquire(key)).toBeNull();
      expect(await holder.do('release', { as: key })).toBe('released');
      expect(seen(holder, 'renewed') + seen(holder, 'lost')).toBe(0);
    });

    it(`F30: +1 h: ${kind} whose lease has expired is lost immediately`, async () => {
      const holder = await worker();
      const key = scene.key();
      await holder.do('acquire', { key, options });
      // Like a suspension of one hour.
      await scene.client.del(`lock:${key}`);
      holder.setClock(HOUR);
      expect(await look(holder, key)).toMatchObject(unsure);
      await holder.event('lost', 2_000);
      const lost = { isHeld: false, remaining: 0, aborted: true, asserted: 'LOCK_LOST' };
      expect(await look(holder, key)).toMatchObject(lost);
      expect(await holder.do('release', { as: key })).toBe('expired');
      await scene.nothingLeft();
    });
  }
});
