import { describe, expect, it } from '@jest/globals';
import {
  Inject,
  Injectable,
  Module,
  Scope,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type Provider,
  type Type,
} from '@nestjs/common';
import { ContextIdFactory, LazyModuleLoader, ModuleRef, ModulesContainer, REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLockModule, Locked, LockAdmin, LockService } from '../../../lib/index.js';
import {
  LeaderElection,
  LeaderElectionModule,
  OnElected,
  OnRevoked,
  getLeaderElectionToken,
  type LeaderElectionOptions,
} from '../../../lib/leader/index.js';
import { Dashboard } from '../../../lib/dashboard/dashboard.js';
import { lockAdminsOf } from '../../../lib/instruments/sources.js';
import { redissonStore } from '../../../lib/stores/redisson/index.js';
import { FakeLeaderElection, TestLockStore } from '../../../lib/testing/index.js';
import { Endings } from '../../support/endings.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf, until } from '../../support/until.js';

@Injectable()
class Dependency {
  readonly name = 'a dependency';
}

/** A class of its own for each module. */
function worker(election = 'office', scope = Scope.DEFAULT) {
  @Injectable({ scope })
  class Worker {
    readonly begun: string[] = [];
    constructor(readonly dependency: Dependency) {}
    @OnElected(election)
    lead(): void {
      this.begun.push(`elected with ${this.dependency.name}`);
    }
    @OnRevoked(election)
    leave(): void {
      this.begun.push('revoked');
    }
    @Locked('nightly')
    async locked(): Promise<void> {
      await Promise.resolve();
    }
  }
  return Worker;
}
const LED = ['elected with a dependency'];

/** All that a memory store needs to elect a leader. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('the modules of an election', () => {
  const endings = new Endings();
  const log = new LogRecorder();
  const memory = (): DynamicModule =>
    DistributedLockModule.forRoot({ store: new TestLockStore(), shutdownTimeout: 500 });
  const feature = (imports: DynamicModule[], ...providers: Provider[]): Type => {
    @Module({ imports, providers: [Dependency, ...providers], exports: [...providers] })
    class Feature {}
    return Feature;
  };
  const compile = async (...imports: (Type | DynamicModule)[]): Promise<TestingModule> => {
    log.lines.length = 0;
    return endings.app(await Test.createTestingModule({ imports }).setLogger(log).compile());
  };
  const start = async (...imports: (Type | DynamicModule)[]): Promise<TestingModule> =>
    await (await compile(...imports)).init();
  const election = (options: LeaderElectionOptions = {}, name = 'office') =>
    LeaderElectionModule.forFeature(name, options);
  const get = <T>(app: Pick<ModuleRef, 'get'>, token: Type<T> | string) =>
    app.get<T>(token, { strict: false });
  const lazily = (app: TestingModule, module: Type | DynamicModule) =>
    app.get(LazyModuleLoader).load(() => module);
  const leads = async (app: Pick<ModuleRef, 'get'>): Promise<LeaderElection> => {
    const found = get<LeaderElection>(app, getLeaderElectionToken('office'));
    await until('it leads', () => found.isLeader);
    return found;
  };

  it.each([{}, { watchdogTimeout: 2_000 }])(
    'F73: an election that several modules import is one, and calls the methods of all of them (%j)',
    async (options) => {
      const [One, Two] = [worker(), worker()];
      const app = await start(memory(), feature([election(options)], One), feature([election(options)], Two));
      const found = await leads(app);
      expect([get(app, One).begun, get(app, Two).begun]).toEqual([LED, LED]);
      await found.resign();
      await leads(app);
      expect(get(app, Two).begun).toEqual([...LED, 'revoked', ...LED]);
      expect(get(app, One).begun).toEqual(get(app, Two).begun);
      const admin = get<LockAdmin>(app, LockAdmin);
      expect(await admin.inspect('leader:office')).toMatchObject({ waiting: 0 });
    },
  );

  it('F73: imports of an election with different options fail at the start, and say what differs', async () => {
    const refusal = (first: LeaderElectionOptions, second: LeaderElectionOptions) =>
      rejectionOf(compile(memory(), feature([election(first)]), feature([election(second)])));
    expect(await refusal({ watchdogTimeout: 3_000 }, { key: 'other' })).toMatchObject({
      code: 'LOCK_OPTIONS',
      message:
        "LeaderElectionModule.forFeature('office') is imported several times with different options: key is 'leader:office' and 'other', " +
        'watchdogTimeout is 3000 and undefined. It is one election of this process, so give all imports the same options.',
    });
    expect(await refusal({}, { stopTimeout: 1 })).toMatchObject({ code: 'LOCK_OPTIONS' });
    await start(memory(), feature([election({ label: 'leader of office' })]), feature([election()]));
  });

  it('F73: FakeLeaderElection is one election for all modules, too', async () => {
    const [One, Two] = [worker(), worker()];
    const fake = new FakeLeaderElection('office');
    const app = await Test.createTestingModule({
      imports: [memory(), feature([election()], One), feature([election()], Two)],
    })
      .overrideProvider(getLeaderElectionToken('office'))
      .useValue(fake)
      .compile();
    await endings.app(app).init();
    await fake.elect();
    expect([get(app, One).begun, get(app, Two).begun]).toEqual([LED, LED]);
  });

  it('F73: an election and a provider that are loaded lazily start, and stop with the application', async () => {
    const Lazy = worker();
    const locks = memory();
    const app = await start(locks, election({}, 'other'));
    const loaded = await lazily(app, feature([election({ watchdogTimeout: 2_000 })], Lazy));
    const found = await leads(loaded);
    const { begun } = get(loaded, Lazy);
    expect(begun).toEqual(LED);
    await app.close();
    expect([found.isLeader, begun]).toEqual([false, [...LED, 'revoked']]);
  });

  it('F73: the dashboard and the metrics show the session of an election that is loaded lazily', async () => {
    const app = await start(memory());
    const dashboard = new Dashboard(false);
    dashboard.start(() => lockAdminsOf(app.get(ModulesContainer)));
    expect((await dashboard.overview()).processes).toHaveLength(1);
    const loaded = await lazily(app, feature([election({ watchdogTimeout: 2_000 })]));
    await leads(loaded);
    expect(dashboard.reportOf('leader office')?.snapshot().held).toMatchObject([{ key: 'leader:office' }]);
    await dashboard.stop();
  });

  it('F73: the first election of an application may be loaded lazily', async () => {
    const Lazy = worker();
    const app = await start(memory());
    const loaded = await lazily(app, feature([election()], Lazy));
    await leads(loaded);
    const { begun } = get(loaded, Lazy);
    await app.close();
    expect(begun).toEqual([...LED, 'revoked']);
  });

  it('F73: a provider that is loaded lazily while this process leads is called at once', async () => {
    const [One, Lazy, Made] = [worker(), worker(), worker()];
    const app = await start(memory(), feature([election()], One));
    const found = await leads(app);
    const make = { provide: Made, useFactory: () => new Made(new Dependency()) };
    const loaded = await lazily(app, feature([election()], Lazy, make));
    expect(get(loaded, Lazy).begun).toEqual(LED);
    await until('the object of a factory is called', () => get(loaded, Made).begun.length > 0);
    await found.resign();
    await leads(app);
    for (const each of [One, Lazy, Made])
      expect(get(loaded, each).begun).toEqual([...LED, 'revoked', ...LED]);
  });

  it('F73: loading an unknown election, or the first lock module, fails', async () => {
    const app = await start(memory(), election());
    expect(await rejectionOf(lazily(app, feature([], worker('stray'))))).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining("@OnElected('stray') on Worker.lead: there is no such election."),
    });
    const bare = await start();
    expect(await rejectionOf(lazily(bare, memory()))).toMatchObject({
      code: 'LOCK_OPTIONS',
      message:
        'DistributedLockModule is loaded lazily, so Nest would not tell it when the application starts and ends. ' +
        'Import it into the root module.',
    });
  });

  it('F73: a load that fails elects nobody, and a later one does', async () => {
    const Lazy = worker();
    const app = await start(memory());
    const fail = {
      provide: 'broken',
      useFactory: () => {
        throw new Error('no database');
      },
    };
    expect(await rejectionOf(lazily(app, feature([election()], Lazy, fail)))).toMatchObject({
      message: 'no database',
    });
    await turns();
    expect(app.get(LockAdmin).status()).toMatchObject({ holds: 0, waiters: 0 });
    const loaded = await lazily(app, feature([election()], Lazy));
    await leads(loaded);
    expect(get(loaded, Lazy).begun).toEqual(LED);
  });

  it('F73: methods of a provider that is loaded lazily are locked', async () => {
    const Lazy = worker('other');
    const app = await start(memory(), election({}, 'other'));
    const make = { provide: 'made', useFactory: () => new Lazy(new Dependency()) };
    const loaded = await lazily(app, feature([], Lazy, make));
    const made = get<InstanceType<typeof Lazy>>(loaded, 'made');
    expect(await rejectionOf(made.locked())).toMatchObject({ code: 'LOCK_OPTIONS' });
    const locks = get<LockService>(app, LockService);
    const admin = app.get(LockAdmin);
    const held = await locks.acquire('nightly');
    const result = get(loaded, Lazy).locked();
    await until('it waits', () => admin.status().waiters === 1);
    await held.release();
    await result;
  });

  it.each([
    ['request-scoped', Scope.REQUEST, 'its class is request-scoped'],
    ['transient', Scope.TRANSIENT, 'its class is a transient provider'],
  ])('F73: a method of a %s provider fails the start, and is named', async (_, scope, text) => {
    const Scoped = worker('office', scope);
    const app = await compile(memory(), election(), feature([], Scoped));
    expect(await rejectionOf(app.init())).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining(`@OnElected('office') on Worker.lead: ${text}`),
    });
    const running = await start(memory(), election());
    await lazily(running, feature([], Scoped));
    const contextId = ContextIdFactory.create();
    expect(
      await rejectionOf(running.get(ModuleRef).resolve(Scoped, contextId, { strict: false })),
    ).toMatchObject({
      message: expect.stringContaining(text),
    });
  });

  it('F73: so does a method of a provider that depends on a request', async () => {
    @Injectable()
    class Dependent {
      constructor(@Inject(REQUEST) readonly request: unknown) {}
      @OnRevoked('office')
      leave(): void {}
    }
    const app = await compile(memory(), election(), feature([], Dependent));
    expect(await rejectionOf(app.init())).toMatchObject({
      message: expect.stringContaining(
        "@OnRevoked('office') on Dependent.leave: its class is request-scoped, or depends on a request-scoped provider",
      ),
    });
  });

  it('F73: an object that ModuleRef.create() makes of such a class is not called', async () => {
    const One = worker();
    const Feature = feature([election()], One);
    const app = await start(memory(), Feature);
    const found = await leads(app);
    const made = await app.select(Feature).get(ModuleRef, { strict: true }).create(One);
    await found.resign();
    expect([made.dependency.name, made.begun]).toEqual(['a dependency', []]);
  });

  it('F73: no leader begins in an application whose start fails, and it begins before nothing else ends', async () => {
    const One = worker();
    const ends: string[] = [];
    @Injectable()
    class Database implements OnApplicationBootstrap, OnModuleDestroy {
      static fails = true;
      async onApplicationBootstrap(): Promise<void> {
        await turns();
        if (Database.fails) throw new Error('no database');
      }
      onModuleDestroy(): void {
        ends.push('database');
      }
    }
    const failed = await compile(memory(), feature([election()], One, Database));
    await rejectionOf(failed.init());
    await turns();
    expect(get(failed, One).begun).toEqual([]);
    Database.fails = false;
    const app = await start(memory(), feature([election()], One, Database));
    await leads(app);
    get<LeaderElection>(app, getLeaderElectionToken('office')).handle('revoked', () => ends.push('leader'));
    await app.close();
    expect(ends).toEqual(['leader', 'database']);
  });

  it('F73: an election by a store that keeps no order of waiters fails at the start', async () => {
    const locks = DistributedLockModule.forRoot({ store: redissonStore({ redis: 'redis://127.0.0.1:1' }) });
    for (const options of [{}, { watchdogTimeout: 2_000 }]) {
      expect(await rejectionOf(compile(locks, election(options)))).toMatchObject({
        code: 'LOCK_UNSUPPORTED',
        message: expect.stringContaining("redissonStore can't carry out"),
      });
    }
  });
});
