import { Controller, Get, type ModuleMetadata } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import {
  DistributedLockModule,
  getLockServiceToken,
  LockService,
  type DistributedLockOptions,
} from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

/** What a request waits for the probe at most, ms. */
const PROBE = 300;

@Controller('ready')
class Readiness {
  constructor(
    private readonly health: HealthCheckService,
    private readonly locks: LockHealthIndicator,
  ) {}

  /** Down as soon as the store does not answer. */
  @Get('strict')
  @HealthCheck()
  strict(): Promise<HealthCheckResult> {
    return this.health.check([
      () =>
        this.locks.isHealthy('locks', {
          unreachableFor: 0,
          probeTimeout: PROBE,
          degradedStatus: 'degraded',
        }),
    ]);
  }

  /** As terminus 11 needs it. */
  @Get('patient')
  @HealthCheck()
  patient(): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.locks.isHealthy('locks', { unreachableFor: Infinity, probeTimeout: PROBE }),
    ]);
  }
}

interface Answer {
  readonly status: number;
  /** What is said of everything. */
  readonly whole: string;
  readonly locks: Readonly<Record<string, unknown>> & { readonly reasons: readonly string[] };
}

/** O15, in an application with terminus 12; test/package has the same with 11. */
describe('O15: readiness over HTTP', () => {
  const apps = new HttpApps();
  let redis: RedisServer;
  let proxy: TcpProxy;
  beforeEach(async () => {
    redis = await RedisServer.start();
    proxy = await TcpProxy.before(redis.port);
  });
  afterEach(async () => {
    await apps.close();
    await proxy.close();
    await redis.close();
  });

  const partsOf = (options: DistributedLockOptions): ModuleMetadata => ({
    imports: [DistributedLockModule.forRoot(options), TerminusModule.forRoot({ logger: false })],
    controllers: [Readiness],
    providers: [LockHealthIndicator],
  });
  const start = (options: DistributedLockOptions = { redis: proxy.url }): Promise<HttpApp> =>
    apps.start(partsOf(options));

  const ask = async (app: HttpApp, path = 'strict'): Promise<Answer> => {
    const { status, body } = await app.get(`/ready/${path}`);
    const { status: whole, details } = body as { status: string; details: { locks: Answer['locks'] } };
    return { status, whole, locks: details.locks };
  };
  const answered = (app: HttpApp, status: number, path?: string): Promise<Answer> =>
    until(
      `it answers ${String(status)}`,
      async () => {
        const answer = await ask(app, path);
        return answer.status === status ? answer : undefined;
      },
      { deadline: 30_000 },
    );

  it.each([
    ['Express', () => undefined],
    ['Fastify', () => new FastifyAdapter()],
  ])('200 while Redis answers, on %s', async (_, adapter) => {
    const app = await apps.start(partsOf({ redis: proxy.url }), undefined, adapter());
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

  it('503 while Redis is stopped, and 200 when it goes on; the answer comes before the request would time out', async () => {
    const app = await start();
    await answered(app, 200);
    redis.stop();
    try {
      const { status, locks } = await ask(app);
      expect({ status, locks }).toMatchObject({ status: 503, locks: { status: 'down', reachable: false } });
      // What was asked has not failed yet.
      expect(locks.reasons).toEqual([expect.stringMatching(/has been out of reach for .* s: it is silent$/)]);
      // Who is more patient goes on to serve, and says why it may not work.
      const patient = await ask(app, 'patient');
      expect(patient).toMatchObject({ status: 200, whole: 'ok', locks: { status: 'up', reachable: false } });
      expect(patient.locks.reasons).toEqual([expect.stringContaining('did not answer')]);
    } finally {
      redis.resume();
    }
    expect((await answered(app, 200)).locks).toMatchObject({ status: 'up', reasons: [], reachable: true });
  });

  it('503 while Redis is cut off, and 200 when it can be reached again', async () => {
    const app = await start();
    await answered(app, 200);
    await proxy.refuse();
    proxy.cut();
    const { locks } = await answered(app, 503);
    expect(locks).toMatchObject({ status: 'down', reachable: false });
    await proxy.accept();
    await answered(app, 200);
  });

  it('503 when Redis was killed, and 200 when there is one again', async () => {
    const app = await start();
    await answered(app, 200);
    await redis.kill();
    await answered(app, 503);
    await redis.restart();
    await answered(app, 200);
  });

  it('503 from the start on where there is no Redis', async () => {
    await proxy.refuse();
    const app = await start();
    await answered(app, 503);
    await proxy.accept();
    await answered(app, 200);
  });

  it('of a quorum: 200 without one of three servers, 503 without two, and 200 when one is back', async () => {
    const others = await RedisServer.startAll(2);
    try {
      const app = await start({ quorum: [redis.url, ...others.map(({ url }) => url)] });
      await answered(app, 200);
      await others[0]!.kill();
      expect(await answered(app, 200)).toMatchObject({ locks: { reachable: true } });
      await others[1]!.kill();
      const { locks } = await answered(app, 503);
      expect(locks.reasons).toEqual([expect.stringContaining('no majority of the 3 servers')]);
      await others[0]!.restart();
      await answered(app, 200);
    } finally {
      await apps.close();
      for (const server of others) await server.close();
    }
  });

  it("with onUnavailable: 'local' it stays ready while Redis is away, also without a call for a lock, and says so", async () => {
    const app = await start({ redis: proxy.url, onUnavailable: 'local' });
    await answered(app, 200);
    await proxy.refuse();
    proxy.cut();
    const local = await until(
      'it says that locks are local',
      async () => {
        const answer = await ask(app, 'patient');
        return answer.locks['local'] === true ? answer : undefined;
      },
      { deadline: 30_000 },
    );
    expect(local).toMatchObject({ status: 200, locks: { status: 'up', reachable: false, local: true } });
    expect(local.locks.reasons).toEqual([
      expect.stringMatching(/^locks are taken in this process only, since Redis .* is out of reach$/),
    ]);
    // Not down, however strict it is.
    expect(await ask(app)).toMatchObject({ status: 200, locks: { status: 'degraded' } });
    const handle = await app.locks.acquire('order:secret');
    expect(handle.degraded).toBe(true);
    await handle.release();
    expect(await ask(app)).toMatchObject({ status: 200, locks: { status: 'degraded', reachable: false } });
    await proxy.accept();
    await until('it is as before', async () => (await ask(app)).locks['status'] === 'up', {
      deadline: 30_000,
    });
  });

  it('a loss is told for a while, without the key', async () => {
    // Who does not listen for messages finds out by the next renewal.
    const app = await start({ redis: proxy.url, watchdogTimeout: 3_000 });
    const handle = await app.locks.acquire('order:secret');
    await app.locks.forceRelease('order:secret');
    await until('it is lost', () => !handle.isHeld, { deadline: 30_000 });
    await until(
      'it says so, and nothing else',
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
    const indicator = new LockHealthIndicator(app.nest.get(LockService));
    expect(await indicator.isHealthy('locks')).toMatchObject({ locks: { status: 'up' } });
    await app.close();
    expect(await indicator.isHealthy('locks')).toMatchObject({
      locks: { status: 'down', reasons: ['the application shuts down, and takes no locks any more'] },
    });
  });

  it('of a module instance with a name it is made by a factory', async () => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }), TerminusModule],
      controllers: [Readiness],
      providers: [
        {
          provide: LockHealthIndicator,
          inject: [getLockServiceToken('billing')],
          useFactory: (service: LockService) => new LockHealthIndicator(service),
        },
      ],
    });
    expect(await answered(app, 200)).toMatchObject({
      status: 200,
      locks: { store: 'the memory of this process', reachable: true },
    });
  });
});
