import { inspect } from 'node:util';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  Locked,
  LockOptionsError,
  LockService,
  LockUnavailableError,
  type DistributedLockOptions,
  type RedisModuleOptions,
} from '../../../lib/index.js';
import { freePort } from '../../support/free-port.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { rejectionOf, within } from '../../support/until.js';
import { Counter, failureOf, FeatureModule } from './counter.js';
import { HttpApps } from './http-app.js';

describe('DistributedLockModule', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();

  it('B1, B5: bad options end the start with a LockOptionsError', async () => {
    const neither = {} as DistributedLockOptions;
    const both = { redis: scene.url, store: 'memory' } as unknown as DistributedLockOptions;
    for (const options of [neither, both]) {
      const error = await failureOf(DistributedLockModule.forRoot(options));
      expect(error).toBeInstanceOf(LockOptionsError);
      expect(error.message).toContain('give exactly one of redis, quorum and store');
    }
    const late = DistributedLockModule.forRootAsync({ useFactory: () => neither });
    expect(await failureOf(late)).toBeInstanceOf(LockOptionsError);
    const nothing = undefined as unknown as DistributedLockOptions;
    expect(() => DistributedLockModule.forRoot(nothing)).toThrow(LockOptionsError);
    const empty = DistributedLockModule.forRootAsync({ useFactory: () => nothing });
    expect((await failureOf(empty)).message).toContain('options must be an object; got undefined');
  });

  it('B6, F16: the application starts without Redis, logs it, and its locks work when Redis is reachable', async () => {
    const proxy = await scene.proxy();
    await proxy.refuse();
    const app = await within(
      5_000,
      'the start',
      apps.start({ imports: [DistributedLockModule.forRoot({ redis: proxy.url }), FeatureModule] }),
    );
    expect(app.problems[0]).toContain("Locks can't be acquired yet");
    expect(app.problems[0]).toContain(`127.0.0.1:${proxy.port}`);
    const counter = app.nest.get(Counter, { strict: false });
    expect(await rejectionOf(counter.count())).toBeInstanceOf(LockUnavailableError);
    await proxy.accept();
    await app.locks.withLock('k', { waitTime: 10_000 }, () => undefined);
    expect(await counter.count()).toBe('counted');
  });

  it('B6: with requireStoreAtStart, an application starts only if its store is fit for locks', async () => {
    const start = (redis: RedisModuleOptions['redis']) =>
      apps.start({ imports: [DistributedLockModule.forRoot({ redis, requireStoreAtStart: true })] });
    const limited = await scene.server.addUser('limited', 'secret', [
      '~lock:*',
      '&lock:*',
      '+@all',
      '-@scripting',
    ]);
    const refused: [RedisModuleOptions['redis'], string][] = [
      [`redis://127.0.0.1:${await freePort()}`, 'ECONNREFUSED'],
      [scene.url.replace('//', '//limited:wrong@'), 'The server accepts neither this user nor this password'],
      [limited, 'lacks'],
      [`${scene.url}/99`, 'Choose a database that exists'],
    ];
    for (const [redis, reason] of refused) {
      const error = await rejectionOf(start(redis));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as Error).message).toContain('requireStoreAtStart is set: ');
      expect((error as Error).message).toContain(reason);
    }
    const app = await start(scene.url);
    expect(await app.locks.withLock('key', () => 'worked')).toBe('worked');
    const clients = (await scene.client.call('CLIENT', 'LIST')) as string;
    expect(clients.match(/user=limited/g)).toBeNull();
  });

  it('B6: the log reports once that the store is unreachable, and once that it is back', async () => {
    const proxy = await scene.proxy();
    const app = await apps.start({ imports: [DistributedLockModule.forRoot({ redis: proxy.url })] });
    await app.locks.withLock('k', () => undefined);
    await proxy.refuse();
    proxy.cut();
    for (let call = 0; call < 3; call++) {
      expect(await rejectionOf(app.locks.acquire('k', { waitTime: 200 }))).toBeInstanceOf(
        LockUnavailableError,
      );
    }
    const gone = app.log.matching("Locks can't be acquired in ");
    expect(gone).toEqual([expect.stringContaining(`in Redis at 127.0.0.1:${String(proxy.port)}: `)]);
    await proxy.accept();
    await app.locks.withLock('k', { waitTime: 10_000 }, () => undefined);
    expect(app.log.matching(/^Locks can be acquired in .* again\.$/)).toHaveLength(1);
  });

  it('B6: a database that does not exist is an unavailable store, not database 0', async () => {
    const app = await apps.start({ imports: [DistributedLockModule.forRoot({ redis: `${scene.url}/99` })] });
    expect(app.log.matching(/Locks can't be acquired yet: .*DB index is out of range/)).toHaveLength(1);
    expect(await rejectionOf(app.locks.acquire('k', { waitTime: 200 }))).toBeInstanceOf(LockUnavailableError);
    expect(await scene.client.keys('*')).toEqual([]);
  });

  it('locks work without init(), as in a testing module that is only compiled', async () => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ redis: scene.url })],
    })
      .setLogger(new LogRecorder())
      .compile();
    expect(await module.get(LockService).withLock('k', { waitTime: 0 }, (lock) => lock.isHeld)).toBe(true);
    await module.close();
  });

  it('the stack of an error contains the calling code, and its JSON has the message and no internals', async () => {
    const app = await apps.start({ imports: [DistributedLockModule.forRoot({ store: 'memory' })] });
    await app.locks.withLock('k', async (lock) => {
      expect(Object.keys(JSON.parse(JSON.stringify(lock)) as object)).toContain('token');
      expect(inspect(lock, { depth: 9 }).length).toBeLessThan(300);
    });
    const held = await app.locks.acquire('k');
    const theCodeThatAsked = async (): Promise<unknown> => await app.locks.acquire('k', { waitTime: 10 });
    const error = await rejectionOf(theCodeThatAsked());
    expect((error as Error).stack).toContain('theCodeThatAsked');
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      code: 'LOCK_TIMEOUT',
      message: (error as Error).message,
    });
    await held.release();
  });

  it('B37: without the module the start fails, and the error names the import', async () => {
    expect((await failureOf(FeatureModule)).message).toContain('LockService');
    @Injectable()
    class Undeclared {
      @Locked('k')
      async act(): Promise<void> {
        return Promise.resolve();
      }
    }
    @Injectable()
    class Named {
      @Locked({ key: 'k', instance: 'billing' })
      async act(): Promise<void> {
        return Promise.resolve();
      }
    }
    @Module({ providers: [Undeclared] })
    class Without {}
    @Module({ providers: [Named] })
    class WithoutNamed {}
    const { message } = await failureOf(Without);
    expect(message).toContain('Undeclared');
    expect(message).toContain('import DistributedLockModule.forRoot(…) into the root module');
    const named = await failureOf(WithoutNamed, DistributedLockModule.forRoot({ store: 'memory' }));
    expect(named.message).toContain("DistributedLockModule.forRoot({ name: 'billing', … })");
  });
});
