import { describe, expect, it } from '@jest/globals';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { compaction } from '../support/etcd-server.js';
import { queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { next, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { serverFaults } from './rules/server-faults.js';
import { EtcdScene } from './scenes/etcd-scene.js';

whereThereIsEtcd('faults of etcd', () => {
  describe('faults of etcd', () => {
    const scene = new EtcdScene();
    serverFaults(scene);

    it('F65: thousands of simultaneous callers of the longest keys are served: no request is too long', async () => {
      const app = await scene.app();
      const start = scene.key();
      const keys = Array.from({ length: 60 }, (_, index) => `${start}${String(index)}`.padEnd(1_024, '/'));
      const options = { label: '€'.repeat(200), limit: 1_000, waitTime: 280_000 };
      const calls = Array.from({ length: 1_200 }, (_, index) =>
        app.locks.acquire(keys[index % keys.length] ?? '', options),
      );
      const handles = await Promise.all(calls);
      await Promise.all(handles.map((handle) => handle.release()));
    });

    it('F14: waiters are served while etcd compacts its history', async () => {
      const [app, holder] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      for (let round = 0; round < 10; round++) {
        const key = scene.key();
        const handle = await holder.locks.acquire(key);
        const waiting = app.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(app, key);
        const { revision } = await client.call(methods.range, { do: 'range', key: 'x', serializable: false });
        await client.call(compaction, revision);
        await handle.release();
        await (await within(10_000, 'the lock', waiting)).release();
      }
      await scene.nothingLeft();
    });

    it('P11: messages arrive through a gRPC proxy of etcd, too', async () => {
      const port = await scene.server.proxy();
      const [holder, waiter] = [await scene.app(), await scene.app({ port })];
      const took: number[] = [];
      for (const key of [scene.key(), scene.key(), scene.key()]) {
        const handle = await holder.locks.acquire(key);
        const waiting = waiter.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(waiter, key);
        const since = stopwatch();
        await handle.release();
        const granted = await waiting;
        took.push(since());
        await granted.release();
      }
      // The poll comes once a second.
      expect(Math.min(...took)).toBeLessThan(500);
      const key = scene.key();
      await waiter.locks.acquire(key);
      const lost = next(waiter.locks.events, ({ type }) => type === 'lost', 5_000);
      expect(await holder.admin.forceRelease(key)).toBe(true);
      expect(await lost).toMatchObject({ key, reason: 'taken' });
      await scene.nothingLeft();
    });
  });
});
