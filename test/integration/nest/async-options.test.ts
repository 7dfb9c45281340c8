import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Injectable,
  Module,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
  type ModuleMetadata,
} from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { metrics } from '@opentelemetry/api';
import { Registry } from 'prom-client';
import { LockDashboardModule } from '../../../lib/dashboard/index.js';
import { LockHealthIndicator, LockHealthModule } from '../../../lib/health/index.js';
import {
  DistributedLockModule,
  getLockServiceToken,
  LockOptionsError,
  type LockService,
} from '../../../lib/index.js';
import { getLeaderElectionToken, LeaderElectionModule } from '../../../lib/leader/index.js';
import { LockOpenTelemetryModule } from '../../../lib/opentelemetry/index.js';
import { LockPrometheusModule } from '../../../lib/prometheus/index.js';
import { rejectionOf, until } from '../../support/until.js';

const registry = new Registry();

@Injectable()
class Settings {
  readonly path = 'ops/locks';
  readonly registry = registry;
  readonly badge = 'operator';
}

@Injectable()
class OpsGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = context
      .switchToHttp()
      .getRequest<{ headers: Readonly<Record<string, string | undefined>> }>();
    return headers['badge'] === this.settings.badge;
  }
}

@Module({ providers: [Settings, OpsGuard], exports: [Settings, OpsGuard] })
class SettingsModule {}

const fromSettings = { imports: [SettingsModule], inject: [Settings] };

describe('options from a factory', () => {
  const apps: INestApplication[] = [];
  const start = async (...imports: NonNullable<ModuleMetadata['imports']>): Promise<INestApplication> => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory' }), ...imports],
    }).compile();
    const app: INestApplication = module.createNestApplication({ logger: false });
    apps.push(app);
    await app.listen(0, '127.0.0.1');
    return app;
  };
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  const statusOf = async (app: INestApplication, path: string, badge = ''): Promise<number> =>
    (await fetch(`${await app.getUrl()}/${path}`, { headers: { badge } })).status;

  const dashboard = LockDashboardModule.forRootAsync({
    imports: [SettingsModule],
    inject: [Settings, OpsGuard],
    useFactory: async ({ path }: Settings, guard: OpsGuard) => ({ path, guards: [guard] }),
  });

  it('give the lock dashboard its path and guards, also when one module is imported by two applications', async () => {
    for (const app of [await start(dashboard), await start(dashboard)]) {
      expect(await statusOf(app, 'ops/locks', 'operator')).toBe(200);
      expect(await statusOf(app, 'ops/locks')).toBe(403);
      expect(await statusOf(app, 'locks', 'operator')).toBe(404);
      expect(await statusOf(app, '', 'operator')).toBe(404);
    }
  });

  it('ask every guard of the lock dashboard in turn', async () => {
    const asked: string[] = [];
    const guard = (name: string, passes: boolean): CanActivate => ({
      canActivate: async () => {
        asked.push(name);
        return passes;
      },
    });
    const guards = [guard('first', true), guard('second', false), guard('third', true)];
    const app = await start(LockDashboardModule.forRootAsync({ useFactory: () => ({ guards }) }));
    expect(await statusOf(app, 'locks')).toBe(403);
    expect(asked).toEqual(['first', 'second']);
  });

  it.each([
    [{ guards: [OpsGuard] }, /a factory can't return the class of a guard. Inject the guard/],
    [{}, /set who may see the page/],
    [{ page: false, access: 'open' }, /can't return page. Import forRoot\(\{ page: false \}\)/],
    [{ imports: [], access: 'open' }, /imports belongs next to useFactory/],
  ])('of the lock dashboard are checked: %j', async (options, message) => {
    const imported = LockDashboardModule.forRootAsync({ useFactory: () => options as { access: 'open' } });
    const error = await rejectionOf(start(imported));
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toMatch(message);
  });

  it('give LockPrometheusModule its registry', async () => {
    const app = await start(
      LockPrometheusModule.forRootAsync({
        ...fromSettings,
        useFactory: (settings: Settings) => ({ register: settings.registry }),
      }),
    );
    expect(await registry.metrics()).toContain('distributed_lock_active');
    await app.close();
    expect(await registry.metrics()).not.toContain('distributed_lock');
    const wrong = LockPrometheusModule.forRootAsync({ useFactory: () => ({ register: {} as Registry }) });
    expect(((await rejectionOf(start(wrong))) as Error).message).toContain(
      'LockPrometheusModule.forRootAsync(): register must be a Registry of prom-client',
    );
  });

  it('give LockOpenTelemetryModule its providers', async () => {
    const asked: string[] = [];
    const meterProvider = {
      getMeter: (name: string) => {
        asked.push(name);
        return metrics.getMeter(name);
      },
    };
    await start(LockOpenTelemetryModule.forRootAsync({ useFactory: () => ({ meterProvider }) }));
    expect(asked).toEqual(['nestjs-distributed-lock']);
    const wrong = LockOpenTelemetryModule.forRootAsync({ useFactory: () => ({ spans: 'some' as 'all' }) });
    expect(((await rejectionOf(start(wrong))) as Error).message).toContain('forRootAsync(): spans must be');
  });

  it('give LockHealthModule its thresholds, which a call may replace', async () => {
    const app = await start(
      LockHealthModule.forRootAsync({ ...fromSettings, useFactory: () => ({ longestHold: 0 }) }),
    );
    const { locks, health } = await held(app);
    await until(
      'the hold is reported',
      async () => (await health.isHealthy('locks')).locks.reasons.length === 1,
    );
    expect((await health.isHealthy('locks', { longestHold: Infinity })).locks.reasons).toEqual([]);
    await locks.release();
    const wrong = LockHealthModule.forRootAsync({ useFactory: () => ({ longestHold: -1 }) });
    expect(((await rejectionOf(start(wrong))) as Error).message).toContain(
      'LockHealthModule.forRootAsync(): longestHold must be',
    );
  });

  it('LockHealthModule.forRoot reports the module instance that is named', async () => {
    const app = await start(
      DistributedLockModule.forRoot({ name: 'billing', store: 'memory' }),
      LockHealthModule.forRoot({ instance: 'billing', longestHold: 0 }),
    );
    const { locks, health } = await held(app, 'billing');
    await until(
      'the hold is reported',
      async () => (await health.isHealthy('locks')).locks.reasons.length === 1,
    );
    expect((await health.isHealthy('locks')).locks.holds).toBe(1);
    await locks.release();
    const wrong = LockHealthModule.forRootAsync({ useFactory: () => ({ instance: 'billing' }) as object });
    expect(((await rejectionOf(start(wrong))) as Error).message).toContain(
      'instance belongs next to useFactory',
    );
    const degraded = { degradedStatus: 'degraded' } as object;
    expect(() => LockHealthModule.forRoot(degraded)).toThrow(/unknown option "degradedStatus"/);
  });

  it('give LeaderElectionModule its options', async () => {
    const app = await start(
      LeaderElectionModule.forFeatureAsync('reports', {
        ...fromSettings,
        useFactory: ({ path }: Settings) => ({ key: path }),
      }),
    );
    expect(app.get(getLeaderElectionToken('reports'))).toMatchObject({ name: 'reports', key: 'ops/locks' });
    const wrong = LeaderElectionModule.forFeatureAsync('reports', {
      useFactory: () => ({ instance: 'billing' }) as object,
    });
    expect(((await rejectionOf(start(wrong))) as Error).message).toContain(
      'instance belongs next to useFactory',
    );
  });

  it.each<[string, (options: never) => unknown]>([
    ['DistributedLockModule', DistributedLockModule.forRootAsync.bind(DistributedLockModule)],
    ['LockDashboardModule', LockDashboardModule.forRootAsync.bind(LockDashboardModule)],
    ['LockHealthModule', LockHealthModule.forRootAsync.bind(LockHealthModule)],
    ['LockOpenTelemetryModule', LockOpenTelemetryModule.forRootAsync.bind(LockOpenTelemetryModule)],
    ['LockPrometheusModule', LockPrometheusModule.forRootAsync.bind(LockPrometheusModule)],
    ['LeaderElectionModule', LeaderElectionModule.forFeatureAsync.bind(LeaderElectionModule, 'reports')],
  ])('say what %s misses', (name, importIt) => {
    const messageOf = (options: unknown): string => {
      try {
        importIt(options as never);
        return 'no error';
      } catch (error) {
        return error instanceof LockOptionsError ? error.message : String(error);
      }
    };
    expect(messageOf(undefined)).toMatch(new RegExp(`^${name}.*options must be an object`));
    expect(messageOf({})).toContain('give one of useFactory, useClass and useExisting; got undefined');
    expect(messageOf({ useFactory: () => ({}), useClass: Settings })).toContain(
      "got 'useFactory and useClass'",
    );
    expect(messageOf({ useFactory: () => ({}), path: 'locks' })).toContain('unknown option "path"');
  });
});

async function held(app: INestApplication, instance?: string) {
  const locks = await app.get<LockService>(getLockServiceToken(instance)).acquire('key');
  return { locks, health: app.get(LockHealthIndicator) };
}
