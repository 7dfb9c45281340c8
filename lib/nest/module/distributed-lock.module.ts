import 'reflect-metadata';
import { STATUS_CODES } from 'node:http';
import {
  type BeforeApplicationShutdown,
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  Inject,
  Logger,
  Module,
  type DynamicModule,
  type ExceptionFilter,
  type InjectionToken,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import { LockAdmin } from '../../api/lock-admin.js';
import { LockService } from '../../api/lock.service.js';
import { LockEngine } from '../../engine/lock-engine.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import { checkObject, type FactoryOptions } from '../../model/option-checks.js';
import { filterGateways, lastGlobalFilter } from '../requests/lock-exception.filter.js';
import { LockInterceptor } from '../requests/lock.interceptor.js';
import { checkAsyncOptions } from './async-options.js';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
  type ResolvedModuleOptions,
} from './distributed-lock.options.js';
import { LockLifecycle, LockLifecycleModule } from './lock-lifecycle.js';
import {
  getLockAdminToken,
  getLockOptionsToken,
  getLockServiceToken,
  serveGivenObjects,
  type AnyModule,
} from './lock-service.injection.js';
import { onePerProcess } from './one-per-process.js';

/** Options that belong to the import of the module, not to the factory. */
export interface DistributedLockModuleExtras {
  /**
   * Registers `LockService` and `LockAdmin` under this name, for `@InjectLockService(name)`, `@InjectLockAdmin(name)`
   * and `@Locked({ instance: name })`. Lets one application import the module several times.
   */
  readonly name?: string | undefined;
  /**
   * Whether every module of the application can inject the service without importing this one.
   *
   * @default true
   */
  readonly isGlobal?: boolean | undefined;
}

/** Options of `DistributedLockModule.forRootAsync`. */
export type DistributedLockAsyncOptions = ConfigurableModuleAsyncOptions<
  FactoryOptions<DistributedLockOptions, keyof DistributedLockModuleExtras>
> &
  DistributedLockModuleExtras;

const RESOLVED_OPTIONS = Symbol('resolved options');
/** Named so that Nest's error says what to write when the class is imported without options. */
const ENGINE = Symbol('import DistributedLockModule.forRoot(…), not the class itself');

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<DistributedLockOptions>({ moduleName: 'DistributedLock' })
    .setClassMethodName('forRoot')
    .setExtras<DistributedLockModuleExtras>({ isGlobal: true, name: undefined }, (definition, extras) => ({
      ...definition,
      global: extras.isGlobal ?? true,
      imports: [...(definition.imports ?? []), LockLifecycleModule],
      providers: [...(definition.providers ?? []), ...providersOf(extras.name)],
      exports: [
        getLockServiceToken(extras.name),
        getLockAdminToken(extras.name),
        getLockOptionsToken(extras.name),
      ],
    }))
    .build();

/** Provides `LockService` and `LockAdmin`, and makes `@Locked` work on handlers. Import it once, into the root module. */
@onePerProcess('DistributedLockModule')
@Module({})
export class DistributedLockModule
  extends ConfigurableModuleClass
  implements OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown
{
  constructor(
    @Inject(ENGINE) engine: LockEngine,
    @Inject(LockLifecycle) private readonly lifecycle: LockLifecycle,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    super();
    lifecycle.add(engine);
    lifecycle.place(new.target, 'around');
  }

  /**
   * Imports the module once, for the whole application. Set exactly one of `redis` (a URL, options of ioredis, or a
   * client), `quorum` (several independent Redis servers) and `store` (`'memory'`, `postgresStore(…)`, `etcdStore(…)`,
   * `zookeeperStore(…)`, or your own). All other options have defaults, with times in ms: `waitTime` 5 000,
   * `watchdogTimeout` 30 000, `shutdownTimeout` 10 000.
   *
   * The application starts even if the store is unreachable, unless `requireStoreAtStart` is set.
   *
   * @throws LockOptionsError for invalid options
   */
  static override forRoot(options: DistributedLockOptions & DistributedLockModuleExtras): DynamicModule {
    checkObject('DistributedLockModule.forRoot()', options);
    return super.forRoot(options);
  }

  /**
   * Takes the options from a factory, a class (method `create`) or an existing provider; `name` and `isGlobal` go next
   * to it.
   */
  static override forRootAsync(options: DistributedLockAsyncOptions): DynamicModule {
    checkAsyncOptions('DistributedLockModule.forRootAsync()', options, ['name', 'isGlobal']);
    return super.forRootAsync(options);
  }

  /** Runs before the hooks of all other modules, so that they can call locked methods. */
  onModuleInit(): void {
    serveGivenObjects(this.modules);
  }

  /** Runs after the hooks of all other modules, in which the application may have served requests for a while longer. */
  beforeApplicationShutdown(): void {
    this.lifecycle.beginShutdown();
  }

  /** Runs after the hooks of all other modules, when nothing uses locks anymore. */
  async onApplicationShutdown(): Promise<void> {
    await this.lifecycle.close();
  }
}

function providersOf(name: string | undefined): Provider[] {
  const service = getLockServiceToken(name);
  const admin = getLockAdminToken(name);
  return [
    { provide: getLockOptionsToken(name), useExisting: MODULE_OPTIONS_TOKEN },
    {
      provide: RESOLVED_OPTIONS,
      useFactory: resolveModuleOptions,
      inject: [MODULE_OPTIONS_TOKEN],
    },
    {
      provide: ENGINE,
      useFactory: (options: ResolvedModuleOptions, modules: ModulesContainer): LockEngine => {
        refuseNamesakes(modules, service, name);
        return new LockEngine(options.store, { ...options, instance: name }, new Logger('DistributedLock'));
      },
      inject: [RESOLVED_OPTIONS, ModulesContainer],
    },
    {
      provide: service,
      useFactory: (engine: LockEngine, options: ResolvedModuleOptions) =>
        new LockService(engine, options.waitTime, options),
      inject: [ENGINE, RESOLVED_OPTIONS],
    },
    { provide: admin, useFactory: (engine: LockEngine) => new LockAdmin(engine), inject: [ENGINE] },
    {
      provide: APP_INTERCEPTOR,
      useFactory: (lifecycle: LockLifecycle) => new LockInterceptor(() => lifecycle.defaultOrigin),
      inject: [LockLifecycle],
    },
    {
      provide: APP_FILTER,
      useFactory: (
        modules: ModulesContainer,
        { http, rpc }: ResolvedModuleOptions,
        engine: LockEngine,
        lifecycle: LockLifecycle,
        adapterHost: HttpAdapterHost,
      ): ExceptionFilter => {
        const busyReason = STATUS_CODES[http === false ? 500 : http.busyStatus] ?? 'Error';
        engine.answers = { http: http && { ...http, busyReason }, rpc };
        if (http !== false) filterGateways(modules);
        return lastGlobalFilter(modules, () => lifecycle.defaultOrigin, adapterHost);
      },
      inject: [ModulesContainer, RESOLVED_OPTIONS, ENGINE, LockLifecycle, HttpAdapterHost],
    },
  ];
}

/** The metadata key of the imports of `@Module`. */
const IMPORTS = 'imports';

/**
 * Rejects a second lock module with the same name, or a second one without a name. The two would not know each other's
 * holds: code that acquires a key through one and again through the other would deadlock.
 */
function refuseNamesakes(modules: ModulesContainer, service: InjectionToken, name: string | undefined): void {
  const all = [...modules.values()];
  const namesakes = all.filter(({ providers }) => providers.has(ENGINE) && providers.has(service));
  if (namesakes.length < 2) return;

  const importers = all.filter((module) => namesakes.some((namesake) => declares(module, namesake)));
  const places = importers.map((module) => module.name).join(' and ');
  throw new LockOptionsError(
    `DistributedLockModule is imported twice ${name === undefined ? 'without a name' : `with the name '${name}'`}` +
      `${places === '' ? '' : `: into ${places}`}. Neither would know the locks of the other, and nested calls would ` +
      'deadlock. Import it once into the root module, where it serves all modules, or give each additional import a name ' +
      "of its own: forRoot({ name: '…', … }).",
  );
}

/** Whether a module itself lists an import. Nest appends global modules to the imports of all others. */
function declares(module: AnyModule, imported: AnyModule): boolean {
  const declared = (Reflect.getMetadata(IMPORTS, module.metatype) ?? []) as readonly unknown[];
  return [...module.imports].slice(0, declared.length).includes(imported);
}
