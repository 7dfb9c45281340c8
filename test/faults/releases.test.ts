import { describe, expect, it } from '@jest/globals';
import { stateOf, within } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';
import { RedisScene } from './redis-scene.js';
import { lostReplyRules } from './rules/release.rules.js';

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

  lostReplyRules(scene, (proxy) => scene.app({ redis: proxy.url }));
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
