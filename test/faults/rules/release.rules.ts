import { expect, it } from '@jest/globals';
import { elapse, stateOf, until, within } from '../../support/until.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** Releases that no caller waits for, and releases whose reply or request is lost with its connection. */
export function releaseRules(scene: StoreScene): void {
  it('P22: withLock returns while the network holds back the reply to its release, and later requests are carried out after the release', async () => {
    const proxy = await scene.proxy();
    const app = await scene.app({ port: proxy.port, shutdownTimeout: 5_000 });
    const key = scene.key();
    let deliver = (): void => undefined;
    const work = app.locks.withLock(key, () => {
      deliver = proxy.hold('replies');
      return 'value';
    });
    if (scene.awaitsReleases) {
      expect(await stateOf(work)).toBe('pending');
      deliver();
      expect(await work).toBe('value');
      return;
    }
    expect(await within(900, 'the value', work)).toBe('value');
    const next = app.locks.tryAcquire(key);
    const looked = app.locks.isLocked(scene.key());
    expect(await stateOf(next)).toBe('pending');
    deliver();
    expect((await next)?.isHeld).toBe(true);
    expect(await looked).toBe(false);
    await (await next)?.release();
    await scene.nothingLeft();
  });

  it('P22: every query of a process sees a lock that it released as free', async () => {
    const app = await scene.app();
    for (let round = 0; round < 20; round++) {
      const key = scene.key();
      await app.locks.withLock(key, () => undefined);
      const [seen, listed] = await Promise.all([app.admin.inspect(key), app.admin.list({ match: key })]);
      expect([seen, listed.locks]).toEqual([null, []]);
    }
    await scene.nothingLeft();
  });

  it('P22, P33: a release whose reply is lost with its connection delays no caller, and the lock is free within seconds', async () => {
    const proxy = await scene.proxy();
    const [app, other] = [await scene.app({ port: proxy.port }), await scene.app()];
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
      const app = await scene.app({ port: proxy.port });
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

  it('B15: a hold that ends just before its holdAtLeast is released, however far away the store is', async () => {
    const proxy = await scene.proxy();
    proxy.delay(30);
    // A session may have to fetch data for its first short lease, so each application acquires only once.
    const outcomes = await Promise.all(
      [40, 30, 20, 15, 10, 5, 3, 1].map(async (left) => {
        const app = await scene.app({ port: proxy.port });
        const lock = await app.locks.acquire(scene.key(), { holdAtLeast: 200 });
        await elapse(200 - left);
        return await lock.release();
      }),
    );
    expect(new Set(outcomes)).toEqual(new Set(['released']));
    await scene.nothingLeft();
  });

  it.each([1, 5, 200])(
    'P22: a process that exits right after its work leaves no lock behind: %d that end together',
    async (count) => {
      const one = await scene.worker(scene.workerOptions(scene.server.port));
      await one.workAndExit(Array.from({ length: count }, () => scene.key()));
      // Their leases would last for 30 s.
      await scene.nothingLeft();
    },
  );

  it('P22: a process that exits in the tick in which it requested a lock does not acquire it', async () => {
    if (scene.sendsAtOnce) return;
    const other = await scene.app();
    const key = scene.key();
    const one = await scene.worker(scene.workerOptions(scene.server.port));
    await one.askAndExit(key);
    // The release of its first lock may still be on its way to the disk.
    await until('the first lock is free', async () => !(await other.locks.isLocked(key)));
    for (let round = 0; round < 20; round++) expect(await other.locks.isLocked(key)).toBe(false);
    const handle = await other.locks.tryAcquire(key);
    expect(handle?.isHeld).toBe(true);
    await handle?.release();
    await scene.nothingLeft();
  });
}
