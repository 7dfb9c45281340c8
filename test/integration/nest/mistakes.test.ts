import { inspect } from 'node:util';
import { Injectable, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LockDashboardModule } from '../../../lib/dashboard/index.js';
import { LockHealthModule } from '../../../lib/health/index.js';
import {
  DistributedLockModule,
  Locked,
  LockOptionsError,
  LockService,
  LockUnavailableError,
} from '../../../lib/index.js';
import { LeaderElectionModule } from '../../../lib/leader/index.js';
import { LockOpenTelemetryModule } from '../../../lib/opentelemetry/index.js';
import { LockPrometheusModule } from '../../../lib/prometheus/index.js';
import { addSlots } from '../../support/redis-cluster.js';
import { freePort } from '../../support/free-port.js';
import { LockApp, LogRecorder } from '../../support/lock-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf } from '../../support/until.js';

describe('errors that say what to do', () => {
  let app: LockApp;
  beforeAll(async () => {
    app = await LockApp.start({ store: 'memory' });
  });
  afterAll(() => app.close());

  const refusalOf = async (call: () => unknown): Promise<string> => {
    const error = await rejectionOf(Promise.resolve().then(call));
    expect(error).toBeInstanceOf(LockOptionsError);
    return (error as Error).message;
  };

  /** A method of the object, without the object. */
  const taken = (object: object, name: string): ((...args: unknown[]) => unknown) =>
    (object as Readonly<Record<string, (...args: unknown[]) => unknown>>)[name]!;

  it.each(['withLock', 'acquire', 'tryAcquire', 'isLocked', 'current', 'assertHeld'])(
    'about %s() that was taken from its service',
    async (name) => {
      expect(await refusalOf(() => taken(app.locks, name)('key', () => undefined))).toBe(
        `${name}() was called without its LockService, as after const { ${name} } = locks. Call locks.${name}(…).`,
      );
    },
  );

  it.each(['release', 'run', 'extend'])('about %s() that was taken from its handle', async (name) => {
    for (const key of ['key', ['key', 'other']]) {
      await using handle = await app.locks.acquire(key);
      expect(await refusalOf(() => taken(handle, name)(1))).toContain(`Call handle.${name}(…).`);
    }
  });

  it('about a method that was taken from its LockAdmin', async () => {
    for (const name of ['inspect', 'held', 'status', 'probe', 'forceRelease']) {
      expect(await refusalOf(() => taken(app.admin, name)('key'))).toContain(`Call admin.${name}(…).`);
    }
  });

  it('about options after the function', async () => {
    const withLock = app.locks.withLock.bind(app.locks) as (...args: unknown[]) => unknown;
    expect(await refusalOf(() => withLock('key', () => undefined, { waitTime: 5 }))).toBe(
      'withLock(): the options come before the function: withLock(key, options, fn), not withLock(key, fn, options).',
    );
  });

  it('about a key that is a promise', async () => {
    const key = Promise.resolve('key') as unknown as string;
    for (const keys of [key, ['other', key]])
      expect(await refusalOf(() => app.locks.acquire(keys))).toContain('the key is a promise. Await it');
  });

  @Injectable()
  class Payments {
    constructor(readonly locks: LockService) {}

    @Locked({ key: (async () => Promise.resolve('key')) as unknown as () => string })
    async byAsyncKey(): Promise<string> {
      return Promise.resolve('ran');
    }

    @Locked('key')
    async pay(): Promise<string> {
      return Promise.resolve('ran');
    }
  }

  it('about an async key function', async () => {
    const imports = [DistributedLockModule.forRoot({ store: 'memory' })];
    const module = await Test.createTestingModule({ imports, providers: [Payments] }).compile();
    expect(await refusalOf(() => module.get(Payments).byAsyncKey())).toContain(
      'a key function must not be async',
    );
    await module.close();
  });

  it('B37: about a locked method without its object', async () => {
    const imports = [DistributedLockModule.forRoot({ store: 'memory' })];
    const module = await Test.createTestingModule({ imports, providers: [Payments] }).compile();
    const payments = module.get(Payments);
    const { pay } = payments;
    for (const call of [pay, () => ({ pay }).pay(), () => pay.call(null as unknown as Payments)]) {
      expect(await refusalOf(call)).toBe(
        '@Locked on Payments.pay: called without its object, as after const { method } = service. Call ' +
          'service.method(…), or pass () => service.method(…).',
      );
    }
    expect(await refusalOf(() => new Payments(app.locks).pay())).toContain('this object has no LockService');
    await module.close();
  });

  it('B37: about a static method', () => {
    const locked = Locked() as unknown as MethodDecorator;
    const define = (): unknown =>
      locked(Payments, 'open', { value: () => Promise.resolve(), configurable: true, writable: true });
    expect(define).toThrow('@Locked on Payments.open: put it on a method of instances; a static method');
  });

  it('about a mock of the service', async () => {
    const mock = { withLock: () => undefined, acquire: () => undefined };
    const module = await Test.createTestingModule({ providers: [Payments] })
      .useMocker(() => mock)
      .compile();
    expect(await refusalOf(() => module.get(Payments).pay())).toContain('provide a FakeLockService');
  });

  it.each([
    [DistributedLockModule, 'DistributedLockModule.forRoot(…)'],
    [LockDashboardModule, 'LockDashboardModule.forRoot(…)'],
    [LockHealthModule, 'LockHealthModule.forRoot()'],
    [LockPrometheusModule, 'LockPrometheusModule.forRoot()'],
    [LockOpenTelemetryModule, 'LockOpenTelemetryModule.forRoot()'],
    [LeaderElectionModule, 'LeaderElectionModule.forFeature(name)'],
  ])('about %p, imported as a class', async (module: Type, instead) => {
    const locks = DistributedLockModule.forRoot({ store: 'memory' });
    const imports = module === DistributedLockModule ? [module] : [locks, module];
    const starting = Test.createTestingModule({ imports }).setLogger(new LogRecorder()).compile();
    expect(await rejectionOf(starting)).toMatchObject({
      message: expect.stringContaining(`import ${instead}, not the class itself`),
    });
  });

  it('in one line while the store is unreachable, though a job may log the error itself', async () => {
    const cut = await LockApp.start({ redis: `redis://127.0.0.1:${await freePort()}` });
    const error = await rejectionOf(cut.locks.acquire('key', { waitTime: 0 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(inspect(error).split('\n')).toHaveLength(1);
    expect(inspect(error)).toContain('ECONNREFUSED');
    await cut.close();
  });

  const failureAt = async ({ port }: RedisServer): Promise<string> => {
    const started = await LockApp.start({ redis: { nodes: [{ host: '127.0.0.1', port }] } });
    try {
      return ((await rejectionOf(started.locks.acquire('key', { waitTime: 500 }))) as Error).message;
    } finally {
      await started.close();
    }
  };

  it('about nodes of a Cluster that are a single server', async () => {
    const server = await RedisServer.start();
    expect(await failureAt(server)).toContain('It is a single server, not a node of a Cluster: give its URL');
    await server.close();
  });

  it('about a Cluster of one node that does not know its address', async () => {
    const server = await RedisServer.start({
      settings: { 'cluster-enabled': 'yes', 'cluster-config-file': 'nodes.conf' },
    });
    await addSlots(server.client());
    expect(await failureAt(server)).toContain('Set `cluster-announce-ip` on its nodes');
    await server.close();
  });
});
