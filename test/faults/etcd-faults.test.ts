import { describe, it } from '@jest/globals';
import { MessageWriter } from '../../lib/stores/etcd/protocol/wire.js';
import { methods, type Method } from '../../lib/stores/etcd/protocol/methods.js';
import { queuedIn } from '../support/lock-app.js';
import { within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { serverFaults } from './rules/server-faults.js';
import { EtcdScene } from './scenes/etcd-scene.js';

whereThereIsEtcd('faults of etcd', () => {
  describe('faults of etcd', () => {
    const scene = new EtcdScene();
    serverFaults(scene);

    it('F14: etcd compacts its history while locks are waited for', async () => {
      const [app, holder] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      for (let round = 0; round < 10; round++) {
        const key = scene.key();
        const handle = await holder.locks.acquire(key);
        const waiting = app.locks.acquire(key, { waitTime: 15_000 });
        await queuedIn(app, key);
        const { revision } = await client.call(methods.range, { do: 'range', key: 'x', serializable: false });
        const compact: Method<number, undefined> = {
          path: '/etcdserverpb.KV/Compact',
          encode: (at) => new MessageWriter().int(1, at).finish(),
          decode: () => undefined,
        };
        await client.call(compact, revision);
        await handle.release();
        await (await within(10_000, 'the lock', waiting)).release();
      }
      await scene.nothingLeft();
    });
  });
});
