import { FastifyAdapter } from '@nestjs/platform-fastify';
import { TerminusModule } from '@nestjs/terminus';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import {
  DistributedLockModule,
  getLockAdminToken,
  type LockAdmin,
  type DistributedLockOptions,
} from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';
import { Readiness, ReadyApps, type ReadyAnswer } from './readiness.js';

/** O15, in an application with terminus 12; test/package has the same with 11, and test/integration/every-store with every store. */
describe('O15: readiness over HTTP', () => {
  const apps = new HttpApps();
  const ready = new ReadyApps();
  let redis: RedisServer;
  let proxy: TcpProxy;
  beforeEach(async () => {
    redis = await RedisServer.start();
    proxy = await TcpProxy.before(redis.port);
  });
  afterEach(async () => {
    await Promise.all([apps.close(), ready.close()]);
    await proxy.close();
    await redis.close();
  });

  const start = (options: DistributedLockOptions = { redis: proxy.url }): Promise<HttpApp> =>
    ready.start(options);
  const ask = (app: HttpApp, path?: string): Promise<ReadyAnswer> => ready.ask(app, path);
  const answered = (app: HttpApp, status: number, path?: string): Promise<ReadyAnswer> =>
    ready.answered(app, status, path);

  it.each([
    ['Express', () => undefined],
    ['Fastify', () => new FastifyAdapter()],
  ])('200 while Redis replies, on %s', async (_, adapter) => {
    const app = await ready.start({ redis: proxy.url }, adapter());
    const handle = await app.locks.acquire('order:secret');
    expect(await answered(app, 200)).toEqual({
      status: 200,
      whole: 'ok',
      locks: {
        status: 'up',
        reasons: [],
        store: expect.stringContaining('Redis'),
        reachable: true,
        local: false,
        holds: 1,
        waiters: 0,
      },
    });
    await handle.release();
  });

  it('503 while Redis is paused, before the pending request times out, and 200 when it continues', async () => {
    const app = await start();
    await answered(app, 200);
    redis.stop();
    try {
      const { status, locks } = await ask(app);
      expect({ status, locks }).toMatchObject({ status: 503, locks: { status: 'down', reachable: false } });
      // The pending request has not failed yet.
      expect(locks.reasons).toEqual([expect.stringMatching(/has been unreachable for .* s: timed out$/)]);
      // A check with a longer unreachableFor stays up, with the reason.
      const patient = await ask(app, 'patient');
      expect(patient).toMatchObject({ status: 200, whole: 'ok', locks: { status: 'up', reachable: false } });
      expect(patient.locks.reasons).toEqual([expect.stringContaining('did not reply')]);
    } finally {
      redis.resume();
    }
    expect((await answered(app, 200)).locks).toMatchObject({ status: 'up', reasons: [], reachable: true });
  });

  it('503 while Redis is disconnected, and 200 when it is reachable again', async () => {
    const app = await start();
    await answered(app, 200);
    await proxy.refuse();
    proxy.cut();
    const { locks } = await answered(app, 503);
    expect(locks).toMatchObject({ status: 'down', reachable: false });
    await proxy.accept();
    await answered(app, 200);
  });

  it("with onUnavailable: 'local' it stays ready while Redis is unreachable, with a reason, even without calls for locks", async () => {
    const app = await start({ redis: proxy.url, onUnavailable: 'local' });
    await answered(app, 200);
    await proxy.refuse();
    proxy.cut();
    const local = await until(
      'it reports local locks',
      async () => {
        const answer = await ask(app, 'patient');
        return answer.locks['local'] === true ? answer : undefined;
      },
      { deadline: 30_000 },
    );
    expect(local).toMatchObject({ status: 200, locks: { status: 'up', reachable: false, local: true } });
    expect(local.locks.reasons).toEqual([
      expect.stringMatching(/^locks are acquired in this process only, because Redis .* is unreachable$/),
    ]);
    // Not down, even with the strict check.
    expect(await ask(app)).toMatchObject({ status: 200, locks: { status: 'degraded' } });
    const handle = await app.locks.acquire('order:secret');
    expect(handle.local).toBe(true);
    await handle.release();
    expect(await ask(app)).toMatchObject({ status: 200, locks: { status: 'degraded', reachable: false } });
    await proxy.accept();
    await until('it is up again', async () => (await ask(app)).locks['status'] === 'up', {
      deadline: 30_000,
    });
  });

  it('a loss is reported for some time, without the key', async () => {
    // A client without a subscription detects it at the next renewal.
    const app = await start({ redis: proxy.url, watchdogTimeout: 3_000 });
    const handle = await app.locks.acquire('order:secret');
    await app.admin.forceRelease('order:secret');
    await until('it is lost', () => !handle.isHeld, { deadline: 30_000 });
    await until(
      'it reports the loss, and nothing else',
      async () => {
        const { status, locks } = await ask(app, 'patient');
        expect([status, locks['status']]).toEqual([200, 'up']);
        return locks.reasons.join() === '1 hold lost in the last 5 minutes';
      },
      { deadline: 30_000 },
    );
    expect((await app.get('/ready/patient')).text).not.toContain('secret');
  });

  it('503 when the application shuts down', async () => {
    const app = await start();
    const indicator = new LockHealthIndicator(app.admin);
    expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up' } });
    await app.close();
    expect(await indicator.isHealthy('locks')).toMatchObject({
      locks: { status: 'down', reasons: ['the application is shutting down and acquires no more locks'] },
    });
  });

  it('a factory creates it for a named module instance', async () => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }), TerminusModule],
      controllers: [Readiness],
      providers: [
        {
          provide: LockHealthIndicator,
          inject: [getLockAdminToken('billing')],
          useFactory: (admin: LockAdmin) => new LockHealthIndicator(admin),
        },
      ],
    });
    expect(await answered(app, 200)).toMatchObject({
      status: 200,
      locks: { store: 'the memory of this process', reachable: true },
    });
  });
});
