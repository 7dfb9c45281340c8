import { Controller, Get, Inject, Injectable, Module, type DynamicModule } from '@nestjs/common';
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
  LockService,
  type DistributedLockOptions,
} from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { rejectionOf } from '../../support/until.js';
import { HttpApps } from './http-app.js';

@Injectable()
class Counter {
  constructor(readonly locks: LockService) {}

  @Locked({ key: 'count', waitTime: 0 })
  async count(): Promise<string> {
    return Promise.resolve('counted');
  }
}

/** A module of the application that does not import the lock module itself. */
@Module({ providers: [Counter], exports: [Counter] })
class FeatureModule {}

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

  /** The error that an application with these imports fails to start with. */
  const failureOf = async (...imports: (DynamicModule | typeof FeatureModule)[]): Promise<Error> => {
    const start = Test.createTestingModule({ imports }).setLogger(new LogRecorder()).compile();
    return (await rejectionOf(start)) as Error;
  };

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
        DistributedLockModule.forRoot({ name: 'billing', redis: scene.url, keyPrefix: 'billing:' }),
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

  it('B3: named instances also come from forRootAsync', async () => {
    const app = await apps.start({
      imports: [
        DistributedLockModule.forRootAsync({ name: 'a', useFactory: () => ({ store: 'memory' }) }),
        DistributedLockModule.forRootAsync({ name: 'b', useFactory: () => ({ store: 'memory' }) }),
      ],
    });
    const [a, b] = ['a', 'b'].map((name) => app.nest.get<LockService>(getLockServiceToken(name)));
    const handle = await a!.acquire('k');
    expect(await b!.isLocked('k')).toBe(false);
    await handle.release();
    expect(() => app.locks).toThrow(/LockService/);
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
