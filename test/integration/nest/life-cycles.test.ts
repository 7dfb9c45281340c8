import type { AddressInfo, Server } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Injectable,
  Module,
  type DynamicModule,
  type INestApplicationContext,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { LazyModuleLoader, NestFactory, type ModuleRef } from '@nestjs/core';
import { MicroserviceOptions, Transport } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { Registry } from 'prom-client';
import { LockDashboardModule } from '../../../lib/dashboard/index.js';
import { LockHealthIndicator, LockHealthModule } from '../../../lib/health/index.js';
import { currentLock, DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { LeaderElectionModule, OnElected, OnRevoked } from '../../../lib/leader/index.js';
import { LockPrometheusModule } from '../../../lib/prometheus/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { Endings } from '../../support/endings.js';
import { freePort } from '../../support/free-port.js';
import { rejectionOf, until } from '../../support/until.js';

/** How a part is imported: with its options, or with a factory of them. */
type Way = 'static' | 'dynamic';

/** What an application uses of the library, and how a test sees that it works. */
interface Part {
  /** Each call makes the modules anew, as another import in the source would. */
  modules(way: Way): readonly (DynamicModule | Type)[];
  /** It works in this application, whose parts `ref` can find. */
  works(ref: Pick<ModuleRef, 'get'>, url: string | undefined): Promise<void>;
  /** It has ended with the application. */
  ended(ref: Pick<ModuleRef, 'get'>): Promise<void>;
  /** Nothing of it began in an application whose start failed. */
  neverBegan?(ref: Pick<ModuleRef, 'get'>): void;
}

const find = <T>(ref: Pick<ModuleRef, 'get'>, type: Type<T>): T => ref.get(type, { strict: false });

function feature(parts: ModuleMetadata): Type {
  @Module(parts)
  class Feature {}
  return Feature;
}

/** Fresh for each application: applications of one process share no registry. */
function partsOf(store: TestLockStore): Readonly<Record<string, Part>> {
  const registry = new Registry();

  @Injectable()
  class Job {
    @Locked('job')
    async run(): Promise<boolean> {
      await Promise.resolve();
      return currentLock().isHeld;
    }
  }
  @Controller()
  class Jobs {
    @Get('job')
    @Locked('job')
    run(): Promise<boolean> {
      return Promise.resolve(currentLock().isHeld);
    }
  }
  @Injectable()
  class Work {
    readonly begun: string[] = [];
    @OnElected('office')
    lead(): void {
      this.begun.push('elected');
    }
    @OnRevoked('office')
    leave({ reason }: { reason: string }): void {
      this.begun.push(reason);
    }
  }
  const options = { store, shutdownTimeout: 1_000 };
  const dashboard = { access: 'open', path: 'ops' } as const;
  return {
    module: {
      modules: (way) => [
        way === 'static'
          ? DistributedLockModule.forRoot(options)
          : DistributedLockModule.forRootAsync({ useFactory: () => options }),
      ],
      works: async (ref) => {
        expect(await find(ref, LockService).withLock('key', (lock) => lock.isHeld)).toBe(true);
      },
      ended: async (ref) => {
        expect(await rejectionOf(find(ref, LockService).acquire('key'))).toMatchObject({
          code: 'LOCK_CLOSED',
        });
      },
    },
    '@Locked': {
      modules: () => [feature({ providers: [Job], controllers: [Jobs], exports: [Job] })],
      works: async (ref, url) => {
        expect(await find(ref, Job).run()).toBe(true);
        if (url !== undefined) expect(await (await fetch(`${url}/job`)).text()).toBe('true');
      },
      ended: async (ref) => {
        expect(await rejectionOf(find(ref, Job).run())).toMatchObject({ code: 'LOCK_CLOSED' });
      },
    },
    election: {
      modules: (way) => [
        feature({
          imports: [
            way === 'static'
              ? LeaderElectionModule.forFeature('office')
              : LeaderElectionModule.forFeatureAsync('office', { useFactory: () => ({}) }),
          ],
          providers: [Work],
        }),
      ],
      works: async (ref) => {
        await until('it leads', () => find(ref, Work).begun.length > 0);
        expect(find(ref, Work).begun).toEqual(['elected']);
      },
      ended: async (ref) => {
        expect(find(ref, Work).begun).toEqual(['elected', 'closed']);
        await Promise.resolve();
      },
      neverBegan: (ref) => expect(find(ref, Work).begun).toEqual([]),
    },
    dashboard: {
      modules: (way) => [
        way === 'static'
          ? LockDashboardModule.forRoot(dashboard)
          : LockDashboardModule.forRootAsync({ useFactory: () => dashboard }),
      ],
      works: async (_ref, url) => {
        const answer = await fetch(`${String(url)}/ops`);
        expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('<title>')]);
      },
      ended: async () => {
        await Promise.resolve();
      },
    },
    metrics: {
      modules: (way) => [
        way === 'static'
          ? LockPrometheusModule.forRoot({ register: registry })
          : LockPrometheusModule.forRootAsync({ useFactory: () => ({ register: registry }) }),
      ],
      works: async () => expect(await registry.metrics()).toContain('distributed_lock'),
      ended: async () => expect(await registry.metrics()).not.toContain('distributed_lock'),
    },
    health: {
      modules: (way) => [
        way === 'static'
          ? LockHealthModule.forRoot()
          : LockHealthModule.forRootAsync({ useFactory: () => ({}) }),
      ],
      works: async (ref) => {
        const { locks } = await find(ref, LockHealthIndicator).isHealthy('locks');
        expect(locks).toMatchObject({ status: 'up', reasons: [] });
      },
      ended: async (ref) => {
        const { locks } = await find(ref, LockHealthIndicator).isHealthy('locks');
        expect(locks.reasons).toEqual([expect.stringContaining('shutting down')]);
      },
    },
  };
}

/** A running application, as a set-up starts it. */
interface Running {
  readonly app: INestApplicationContext;
  /** Finds the parts. */
  readonly ref: Pick<ModuleRef, 'get'>;
  readonly url?: string;
}

/** Throws at the end of a start. */
@Injectable()
class Broken implements OnApplicationBootstrap {
  onApplicationBootstrap(): void {
    throw new Error('the start fails');
  }
}

const QUIET = { logger: false, abortOnError: false } as const;

describe('life cycles of Nest', () => {
  const endings = new Endings();
  const created: INestApplicationContext[] = [];
  const track = <T extends INestApplicationContext>(app: T): T => {
    created.push(app);
    return endings.app(app);
  };
  const listen = async (root: Type): Promise<Running> => {
    const app = track(await NestFactory.create(root, QUIET));
    await app.listen(0, '127.0.0.1');
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    return { app, ref: app, url: `http://127.0.0.1:${port}` };
  };
  type SetUp = (locks: Part, part: Part, more: ModuleMetadata) => Promise<Running>;
  const rootOf = (way: Way, locks: Part, part: Part, more: ModuleMetadata): Type =>
    feature({ ...more, imports: [...(locks === part ? [] : locks.modules(way)), ...part.modules(way)] });

  const setUps: Readonly<Record<string, SetUp>> = {
    static: (...parts) => listen(rootOf('static', ...parts)),
    dynamic: (...parts) => listen(rootOf('dynamic', ...parts)),
    'imported twice': (locks, part, more) => {
      const twice = [
        feature({ imports: [...part.modules('static')] }),
        feature({ imports: [...part.modules('static')] }),
      ];
      return listen(
        feature({ ...more, imports: [...(locks === part ? [] : locks.modules('static')), ...twice] }),
      );
    },
    lazy: async (locks, part, more) => {
      const { app, ...rest } = await listen(
        feature({ ...more, imports: [...(locks === part ? [] : locks.modules('static'))] }),
      );
      const ref = await app
        .get(LazyModuleLoader)
        .load(() => feature({ imports: [...part.modules('static')] }));
      return { ...rest, app, ref };
    },
    global: (locks, part, more) => {
      const asGlobal = (each: DynamicModule | Type): DynamicModule =>
        typeof each === 'function' ? { module: each, global: true } : { ...each, global: true };
      const modules = [...(locks === part ? [] : locks.modules('static')), ...part.modules('static')];
      return listen(feature({ ...more, imports: modules.map(asGlobal) }));
    },
    'a test module': async (...parts) => {
      const module = await Test.createTestingModule({ imports: [rootOf('static', ...parts)] }).compile();
      const app = track(module.createNestApplication(QUIET));
      await app.listen(0, '127.0.0.1');
      const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
      return { app, ref: app, url: `http://127.0.0.1:${port}` };
    },
    hybrid: async (...parts) => {
      const app = track(await NestFactory.create(rootOf('static', ...parts), QUIET));
      app.connectMicroservice<MicroserviceOptions>({
        transport: Transport.TCP,
        options: { port: await freePort() },
      });
      await app.startAllMicroservices();
      await app.listen(0, '127.0.0.1');
      const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
      return { app, ref: app, url: `http://127.0.0.1:${port}` };
    },
    standalone: async (...parts) => {
      const app = track(await NestFactory.createApplicationContext(rootOf('static', ...parts), QUIET));
      return { app, ref: app };
    },
    'hot reload': async (...parts) => {
      const root = rootOf('static', ...parts);
      const first = await listen(root);
      await first.app.close();
      return await listen(root);
    },
  };

  const WORKS = 'works';
  const TWICE = 'imported twice';
  const ONCE = 'Import the module once';
  const LAZY = 'is loaded lazily';
  /** A page needs HTTP. */
  const NO_HTTP = undefined;
  const table: readonly (readonly [string, Readonly<Record<string, string | undefined>>])[] = [
    ['static', {}],
    ['dynamic', {}],
    // Two pages may have two paths, and guards of their own.
    ['imported twice', { module: TWICE, metrics: ONCE }],
    ['lazy', { module: LAZY, dashboard: LAZY, metrics: LAZY }],
    ['global', {}],
    ['a test module', {}],
    ['hybrid', {}],
    ['standalone', { dashboard: NO_HTTP }],
    ['hot reload', {}],
  ];
  const subjects = ['module', '@Locked', 'election', 'dashboard', 'metrics', 'health'];
  const cells = table.flatMap(([setUp, exceptions]) =>
    subjects.map((part) => [setUp, part, part in exceptions ? exceptions[part] : WORKS] as const),
  );

  const prepare = (setUp: string, name: string) => {
    const parts = partsOf(new TestLockStore());
    const [locks, part, start] = [parts['module'], parts[name], setUps[setUp]];
    if (locks === undefined || part === undefined || start === undefined) throw new Error(name);
    return { locks, part, start };
  };

  it.each(cells.filter(([, , outcome]) => outcome !== undefined))(
    'F73: %s: %s: %s',
    async (setUp, name, outcome) => {
      const { locks, part, start } = prepare(setUp, name);
      if (outcome !== WORKS) {
        expect(await rejectionOf(start(locks, part, {}))).toMatchObject({
          message: expect.stringContaining(String(outcome)),
        });
        return;
      }
      const { app, ref, url } = await start(locks, part, {});
      await part.works(ref, setUp === 'lazy' ? undefined : url);
      await app.close();
      await part.ended(ref);
    },
  );

  // Nest returns no standalone application that a test could close, so its metrics stay in their registry.
  const isClosable = (setUp: string, part: string): boolean => setUp !== 'standalone' || part !== 'metrics';
  it.each(
    cells.filter(
      ([setUp, part, outcome]) => outcome === WORKS && setUp !== 'lazy' && isClosable(setUp, part),
    ),
  )('F73: %s: %s: a start that fails leaves nothing, and the next one succeeds', async (setUp, name) => {
    const { locks, part, start } = prepare(setUp, name);
    created.length = 0;
    expect(await rejectionOf(start(locks, part, { providers: [Broken] }))).toMatchObject({
      message: 'the start fails',
    });
    const [failed] = created;
    if (failed !== undefined) {
      part.neverBegan?.(failed);
      await failed.close();
    }
    const { app, ref, url } = await start(locks, part, {});
    await part.works(ref, url);
    await app.close();
    await part.ended(ref);
  });

  it.each(subjects)(
    'F73: %s: several applications in one process do not disturb each other',
    async (name) => {
      const store = new TestLockStore();
      const start = setUps['static'];
      if (start === undefined) throw new Error(name);
      const all = [partsOf(store), partsOf(store)].map((parts) => ({
        locks: parts['module'],
        part: parts[name],
      }));
      const running: (Running & { readonly part: Part })[] = [];
      for (const { locks, part } of all) {
        if (locks === undefined || part === undefined) throw new Error(name);
        running.push({ ...(await start(locks, part, {})), part });
      }
      const [one, two] = running;
      if (one === undefined || two === undefined) throw new Error(name);
      await one.part.works(one.ref, one.url);
      // There is one leader.
      if (name !== 'election') await two.part.works(two.ref, two.url);
      else two.part.neverBegan?.(two.ref);
      await one.app.close();
      await one.part.ended(one.ref);
      await two.part.works(two.ref, two.url);
      await two.app.close();
      await two.part.ended(two.ref);
    },
  );
});
