import { describe, expect, it } from '@jest/globals';
import { elapse, stateOf, within } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';
import { RedisScene } from './redis-scene.js';

describe.each([0, 40])('releases, %d ms away', (delay) => {
  const scene = new RedisScene({ delay });

  it('P22: withLock returns while the network holds back the reply to its release', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ redis: proxy.url, shutdownTimeout: 5_000 });
    const key = scene.key();
    let deliver = (): void => undefined;
    const work = app.locks.withLock(key, () => {
      deliver = proxy.hold('replies');
      return 'value';
    });
    expect(await within(1_000, 'the value', work)).toBe('value');
    // The server runs the commands of one connection in order.
    const next = app.locks.tryAcquire(key);
    const looked = app.admin.inspect(scene.key());
    expect(await stateOf(next)).toBe('pending');
    deliver();
    expect((await next)?.isHeld).toBe(true);
    expect(await looked).toBeNull();
    await (await next)?.release();
    await scene.nothingLeft();
  });

  it('P22: the first release on a server without its script is carried out before the next request, too', async () => {
    const app = await scene.app();
    const key = scene.key();
    for (let round = 0; round < 3; round++) {
      await scene.client.script('FLUSH');
      const later = await scene.app();
      // The script that acquires locks is loaded by now.
      const other = await later.locks.acquire(scene.key());
      expect(await later.locks.withLock(key, () => 'value')).toBe('value');
      const next = await later.locks.tryAcquire(key);
      expect(next?.isHeld).toBe(true);
      await Promise.all([other.release(), next?.release()]);
    }
    expect(await app.locks.withLock(key, () => 'value')).toBe('value');
    await scene.nothingLeft();
  });

  it('P22, P33: a release whose reply is lost with its connection delays no caller, and the lock is free within seconds', async () => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ redis: proxy.url }), await scene.app()];
    const key = scene.key();
    const work = app.locks.withLock(key, { waitTime: 10_000 }, () => {
      void proxy.loseRequest((request) => request.includes(key));
      return 'value';
    });
    expect(await within(10_000, 'the value', work)).toBe('value');
    // Its lease would last for 30 s.
    await (await other.locks.acquire(key, { waitTime: 10_000 })).release();
    expect(app.events('lost')).toEqual([]);
    await scene.nothingLeft();
  });

  it.each([50, 300, 1_000])(
    'B23, P33: a release that can only be sent when the connection is back, %d ms later, is not reported as a loss',
    async (ms) => {
      const proxy = await scene.proxy();
      const app = await scene.app({ redis: proxy.url });
      const keys = Array.from({ length: 5 }, () => scene.key());
      const locks = await Promise.all(keys.map((key) => app.locks.acquire(key)));
      await proxy.refuse();
      proxy.cut();
      const atOnce = locks.splice(0, 3).map((lock) => lock.release());
      await elapse(ms / 2);
      const later = locks.map((lock) => lock.release());
      await elapse(ms / 2);
      await proxy.accept();
      for (const outcome of await Promise.all([...atOnce, ...later])) {
        expect(['released', 'unknown']).toContain(outcome);
      }
      await scene.nothingLeft();
      expect(app.events('lost')).toEqual([]);
    },
  );
});

describe('locks of a process that exits', () => {
  const scene = new RedisScene();

  it('P22: a process that exits right after its work leaves no lock behind, however many ended with it', async () => {
    for (const count of [1, 5, 40]) {
      const process = scene.until(await WorkerProcess.start({ redis: scene.url }));
      await process.workAndExit(Array.from({ length: count }, () => scene.key()));
      await scene.nothingLeft();
    }
  });
});
