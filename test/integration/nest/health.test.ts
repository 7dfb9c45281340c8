import { describe, expect, it } from '@jest/globals';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { until } from '../../support/until.js';
import { ReadyApps, type ReadyAnswer } from './readiness.js';

/** O15, in an application with terminus 12; test/package has the same with 11, and test/integration/every-store with every store. */
describe('O15: readiness over HTTP', () => {
  const ready = new ReadyApps();
  const scene = new RedisScene();

  it("with onUnavailable: 'local' it stays ready while Redis is unreachable, with a reason, even without calls for locks", async () => {
    const proxy = await scene.proxy();
    const app = await ready.start({ redis: proxy.url, onUnavailable: 'local' });
    const ask = (path?: string): Promise<ReadyAnswer> => ready.ask(app, path);
    await ready.answered(app, 200);
    await proxy.refuse();
    proxy.cut();
    const local = await until(
      'it reports local locks',
      async () => {
        const answer = await ask('patient');
        return answer.locks['local'] === true ? answer : undefined;
      },
      { deadline: 30_000 },
    );
    expect(local).toMatchObject({ status: 200, locks: { status: 'up', reachable: false, local: true } });
    expect(local.locks.reasons).toEqual([
      expect.stringMatching(/^locks are acquired in this process only, because Redis .* is unreachable$/),
    ]);
    // Not down, even with the strict check.
    expect(await ask()).toMatchObject({ status: 200, locks: { status: 'degraded' } });
    const handle = await app.locks.acquire('order:secret');
    expect(handle.local).toBe(true);
    await handle.release();
    expect(await ask()).toMatchObject({ status: 200, locks: { status: 'degraded', reachable: false } });
    await proxy.accept();
    await until('it is up again', async () => (await ask()).locks['status'] === 'up', {
      deadline: 30_000,
    });
  });

  it('503 when the application shuts down', async () => {
    const app = await ready.start({ redis: scene.url });
    const indicator = new LockHealthIndicator(app.admin);
    expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up' } });
    await app.close();
    expect(await indicator.isHealthy('locks')).toMatchObject({
      locks: { status: 'down', reasons: ['the application is shutting down and acquires no more locks'] },
    });
  });
});
