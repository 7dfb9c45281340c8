import { Injectable, Module, type DynamicModule, type Type } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, LockOptionsError, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf } from '../../support/until.js';
import { HttpApps } from './http-app.js';

@Injectable()
class Orders {
  constructor(readonly locks: LockService) {}
}

/** A module of the application that imports these. */
function feature(...imports: DynamicModule[]): Type {
  @Module({ imports, providers: [Orders], exports: [Orders] })
  class OrdersModule {}
  return OrdersModule;
}

const inMemory = (name?: string): DynamicModule => DistributedLockModule.forRoot({ name, store: 'memory' });

describe('DistributedLockModule, imported more than once', () => {
  const apps = new HttpApps();

  const failureOf = async (...imports: (DynamicModule | Type)[]): Promise<Error> => {
    const start = Test.createTestingModule({ imports }).setLogger(new LogRecorder()).compile();
    return (await rejectionOf(start)) as Error;
  };

  it('without a name: the application does not start, with a remedy', async () => {
    const error = await failureOf(inMemory(), feature(inMemory()));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toMatch(/imported twice without a name: into RootTestModule and OrdersModule\./);
    expect(error.message).toMatch(/once into the root module/);
    expect(error.message).toContain("forRoot({ name: '…', … })");
  });

  it('without a name: the same with forRootAsync and isGlobal: false', async () => {
    const fromFactory = DistributedLockModule.forRootAsync({
      isGlobal: false,
      useFactory: () => ({ store: 'memory' }),
    });
    expect(await failureOf(inMemory(), feature(fromFactory))).toBeInstanceOf(LockOptionsError);
  });

  it('with the same name: the application does not start', async () => {
    const error = await failureOf(inMemory(), inMemory('billing'), feature(inMemory('billing')));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toContain("imported twice with the name 'billing'");
  });

  it('with different names: both work', async () => {
    const app = await apps.start({ imports: [inMemory(), inMemory('billing'), feature(inMemory('shop'))] });
    expect(await app.locks.withLock('k', (lock) => lock.isHeld)).toBe(true);
  });

  it('the result of one forRoot() is one module, wherever it is imported', async () => {
    const locks = inMemory();
    const app = await apps.start({ imports: [locks, feature(locks)] });
    const orders = app.nest.get(Orders, { strict: false });
    expect(orders.locks).toBe(app.locks);
    expect(await app.locks.withLock('k', () => orders.locks.withLock('k', (lock) => lock.isHeld))).toBe(true);
  });

  it('in a module that is loaded later: that load fails, and the application continues', async () => {
    const app = await apps.start({ imports: [inMemory()] });
    const loader = app.nest.get(LazyModuleLoader);
    const error = await rejectionOf(loader.load(() => feature(inMemory())));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(await app.locks.withLock('k', (lock) => lock.isHeld)).toBe(true);
    await loader.load(() => feature(inMemory('later')));
  });

  it('a test that overrides the module has one instance', async () => {
    const locks = DistributedLockModule.forRoot({ redis: 'redis://redis.internal:6379' });
    const module = await Test.createTestingModule({ imports: [locks, feature(locks)] })
      .overrideModule(locks)
      .useModule(inMemory())
      .setLogger(new LogRecorder())
      .compile();
    expect(await module.get(LockService).withLock('k', (lock) => lock.isHeld)).toBe(true);
    await module.close();
  });
});
