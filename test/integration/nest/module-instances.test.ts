import { Controller, Get, Inject, Injectable, Module, type DynamicModule, type Type } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  getLockAdminToken,
  getLockServiceToken,
  InjectLockAdmin,
  InjectLockService,
  LockAdmin,
  Locked,
  LockOptionsError,
  LockService,
  type DistributedLockOptions,
} from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { rejectionOf } from '../../support/until.js';
import { Counter, failureOf, FeatureModule } from './counter.js';
import { HttpApps } from './http-app.js';

/** A module of the application that imports these. */
function feature(...imports: DynamicModule[]): Type {
  @Module({ imports, providers: [Counter], exports: [Counter] })
  class OrdersModule {}
  return OrdersModule;
}

const inMemory = (name?: string): DynamicModule => DistributedLockModule.forRoot({ name, store: 'memory' });

describe('instances of DistributedLockModule', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();

  it('log at the start where their locks are, with name and prefix', async () => {
    const log = new LogRecorder();
    const redis = scene.url;
    const imports = [
      DistributedLockModule.forRoot({ redis }),
      DistributedLockModule.forRoot({ redis, name: 'billing', keyPrefix: 'billing:' }),
    ];
    const app = await Test.createTestingModule({ imports }).setLogger(log).compile();
    await app.init();
    await app.close();
    expect([...log.matching(' are kept in ')].sort()).toEqual([
      expect.stringMatching(/^Locks are kept in Redis at .*\), prefix "lock:", as client /),
      expect.stringMatching(/^Locks of "billing" are kept in Redis at .*\), prefix "billing:", as client /),
    ]);
  });

  it('B2: is global by default, and with isGlobal: false only where it is imported', async () => {
    const app = await apps.start({
      imports: [FeatureModule, DistributedLockModule.forRoot({ store: 'memory' })],
    });
    expect(await app.nest.get(Counter, { strict: false }).count()).toBe('counted');

    const scoped = DistributedLockModule.forRoot({ store: 'memory', isGlobal: false });
    expect((await failureOf(FeatureModule, scoped)).message).toContain('LockService');
    @Module({ imports: [scoped], providers: [Counter] })
    class ImportingModule {}
    const importing = await apps.start({ imports: [ImportingModule] });
    expect(await importing.nest.get(Counter, { strict: false }).count()).toBe('counted');
  });

  it('B3: one application has several instances, each with its store, injected and used by name', async () => {
    @Injectable()
    class Both {
      constructor(
        readonly plain: LockService,
        @InjectLockService('billing') readonly billing: LockService,
        readonly plainAdmin: LockAdmin,
        @InjectLockAdmin('billing') readonly billingAdmin: LockAdmin,
      ) {}

      @Locked({ key: 'k', waitTime: 0 })
      async inPlain(): Promise<boolean[]> {
        return Promise.all([this.plain.isLocked('k'), this.billing.isLocked('k')]);
      }

      @Locked({ key: 'k', waitTime: 0, instance: 'billing' })
      async inBilling(): Promise<boolean[]> {
        return Promise.all([this.plain.isLocked('k'), this.billing.isLocked('k')]);
      }

      @Locked({ key: 'k', waitTime: 0 })
      async inBoth(): Promise<boolean[]> {
        return this.inBilling();
      }
    }
    @Controller()
    class Pages {
      @Get()
      @Locked({ key: 'k', waitTime: 0, instance: 'billing' })
      async show(): Promise<string> {
        return Promise.resolve('shown');
      }
    }
    const app = await apps.start({
      imports: [
        DistributedLockModule.forRoot({ redis: scene.url }),
        DistributedLockModule.forRootAsync({
          name: 'billing',
          useFactory: () => ({ redis: scene.url, keyPrefix: 'billing:' }),
        }),
      ],
      providers: [Both],
      controllers: [Pages],
    });
    const both = app.nest.get(Both);
    expect(both.billing).toBe(app.nest.get(getLockServiceToken('billing'), { strict: false }));
    expect(both.billing).toBeInstanceOf(LockService);
    expect(both.billing).not.toBe(both.plain);
    expect(both.billingAdmin).toBe(app.nest.get(getLockAdminToken('billing'), { strict: false }));
    expect(both.billingAdmin).toBeInstanceOf(LockAdmin);
    expect(await both.inPlain()).toEqual([true, false]);
    expect(await both.inBilling()).toEqual([false, true]);
    expect(await both.inBoth()).toEqual([true, true]);

    const holder = await both.plain.acquire('k');
    expect((await app.get('/')).text).toBe('shown');
    await holder.release();
    const biller = await both.billing.acquire('k');
    expect(await scene.client.exists('billing:k')).toBe(1);
    expect([both.plainAdmin.held(), both.billingAdmin.held()]).toMatchObject([[], [{ key: 'k' }]]);
    expect([await both.plainAdmin.inspect('k'), await both.billingAdmin.inspect('k')]).toMatchObject([
      null,
      { token: biller.token },
    ]);
    expect((await app.get('/')).status).toBe(423);
    await biller.release();
  });

  it('B5: options come from a factory, a class or an existing provider', async () => {
    const SETTINGS = Symbol('settings');
    @Module({
      providers: [{ provide: SETTINGS, useValue: { prefix: 'from-settings:' } }],
      exports: [SETTINGS],
    })
    class SettingsModule {}
    @Injectable()
    class OptionsFactory {
      constructor(@Inject(SETTINGS) private readonly settings: { prefix: string }) {}

      create(): DistributedLockOptions {
        return { redis: scene.url, keyPrefix: this.settings.prefix };
      }
    }
    @Module({ imports: [SettingsModule], providers: [OptionsFactory], exports: [OptionsFactory] })
    class OptionsModule {}
    const ways = {
      useFactory: DistributedLockModule.forRootAsync({
        imports: [SettingsModule],
        inject: [SETTINGS],
        useFactory: async ({ prefix }: { prefix: string }) =>
          Promise.resolve({ redis: scene.url, keyPrefix: prefix }),
      }),
      useClass: DistributedLockModule.forRootAsync({ imports: [SettingsModule], useClass: OptionsFactory }),
      useExisting: DistributedLockModule.forRootAsync({
        imports: [OptionsModule],
        useExisting: OptionsFactory,
      }),
    };
    for (const imported of Object.values(ways)) {
      const app = await apps.start({ imports: [imported, FeatureModule] });
      const handle = await app.locks.acquire('k');
      expect(await scene.client.exists('from-settings:k')).toBe(1);
      await handle.release();
      expect(await app.nest.get(Counter, { strict: false }).count()).toBe('counted');
    }
  });
});

describe('DistributedLockModule, imported more than once', () => {
  const apps = new HttpApps();

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

  it('the result of one forRoot() is one module, wherever it is imported', async () => {
    const locks = inMemory();
    const app = await apps.start({ imports: [locks, feature(locks)] });
    const { locks: ofFeature } = app.nest.get(Counter, { strict: false });
    expect(ofFeature).toBe(app.locks);
    expect(await app.locks.withLock('k', () => ofFeature.withLock('k', (lock) => lock.isHeld))).toBe(true);
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
