import { expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError } from '../../../lib/index.js';
import { LockStoreError } from '../../../lib/stores/port/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { stopwatch } from '../../support/stopwatch.js';
import { elapse, next, rejectionOf, until } from '../../support/until.js';
import type { StoreScene } from '../scenes/store-scene.js';

/** A server that is stopped, is killed or loses its data. */
export function serverRules(scene: StoreScene): void {
  it('F2, B11: while the server is stopped a free lock is unavailable, and no ghost is left when it resumes', async () => {
    const [app, other] = [await scene.app(), await scene.app()];
    const key = scene.key();
    await scene.server.stop();
    try {
      const took = stopwatch();
      const error = await rejectionOf(app.locks.acquire(key, { waitTime: 300 }));
      expect(took()).toBeLessThan(1_000);
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ cause: expect.any(LockStoreError), keys: [key] });
    } finally {
      await scene.server.resume();
    }
    await (await other.locks.acquire(key, { waitTime: 15_000 })).release();
    await scene.nothingLeft();
  });

  it('F1: a server that was killed and restarted still has the lock, and its holder keeps it', async () => {
    const [app, other] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const renewed = next(app.locks.events, (event) => event.type === 'renewed', 30_000);
    await scene.server.restart();
    await renewed;
    expect(handle.isHeld).toBe(true);
    const refused = await rejectionOf(
      until('it replies', async () => {
        await other.locks.acquire(key, { waitTime: 0 }).catch((error: unknown) => {
          if (!(error instanceof LockUnavailableError)) throw error;
        });
        return false;
      }),
    );
    expect(refused).toBeInstanceOf(LockTimeoutError);
    const before = handle.token;
    expect(await handle.release()).toBe('released');
    const later = await other.locks.acquire(key, { waitTime: 15_000 });
    expect(later.token).toBeGreaterThan(before);
    await later.release();
    await scene.nothingLeft();
  });

  it('F1: callers that wait during a restart of the server are served afterwards, one at a time', async () => {
    const apps = await Promise.all(Array.from({ length: 3 }, () => scene.app()));
    const key = scene.key();
    const witness = new ExclusionWitness();
    const calls = apps.flatMap(({ locks }) =>
      Array.from({ length: 10 }, () =>
        locks.withLock(key, { waitTime: 60_000 }, async () => {
          witness.enter();
          await elapse(5);
          witness.leave();
        }),
      ),
    );
    await until('one is served', () => witness.most > 0);
    await scene.server.restart();
    await Promise.all(calls);
    expect(witness.most).toBe(1);
    await scene.nothingLeft();
  });

  it('F7: deleted locks: the holder is notified at its next renewal, and the next token is larger', async () => {
    const app = await scene.app({ watchdogTimeout: 600 });
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const lost = next(app.locks.events, (event) => event.type === 'lost');
    await scene.deleteLocks();
    expect(await lost).toMatchObject({ key });
    const later = await app.locks.acquire(key);
    expect(later.token).toBeGreaterThan(handle.token);
    await later.release();
    await scene.nothingLeft();
  });

  it('F1, B16: a server that comes back without its data: the holder is notified, and tokens grow', async () => {
    const { brief: options } = scene;
    const app = await scene.app({ options, watchdogTimeout: 2_500 });
    const key = scene.key();
    const handle = await app.locks.acquire(key);
    const lost = next(app.locks.events, (event) => event.type === 'lost', 30_000);
    await scene.loseData();
    expect(await lost).toMatchObject({ key });
    for (const one of [app, await scene.app({ options, watchdogTimeout: 2_500 })]) {
      const later = await one.locks.acquire(key, { waitTime: 30_000 });
      if (scene.tokensOutliveData) expect(later.token).toBeGreaterThan(handle.token);
      await later.release();
    }
    await scene.nothingLeft();
  });
}
