import {
  ConfigurableModuleBuilder,
  type ConfigurableModuleAsyncOptions,
  Inject,
  Logger,
  Module,
  type DynamicModule,
  type ExceptionFilter,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, ModulesContainer } from '@nestjs/core';
import {
  resolveModuleOptions,
  type DistributedLockOptions,
  type ResolvedModuleOptions,
} from './distributed-lock.options.js';
import { LockEngine } from '../../engine/lock-engine.js';
import { getLockServiceToken } from './lock-service.token.js';
import { LockService } from '../../api/lock.service.js';
import { ErrorSettings } from '../requests/error-settings.js';
import { filterGateways } from '../requests/gateway.filter.js';
import { serveGivenObjects } from './given-objects.js';
import { lockExceptionFilterOf } from '../requests/lock-exception.filter.js';
import { LockLifecycle, LockLifecycleModule } from './lock-lifecycle.js';
import { LockInterceptor } from '../requests/lock.interceptor.js';
import { refuseNamesakes } from './one-module-per-name.js';
import { onePerProcess } from './one-per-process.js';
import { checkObject } from '../../model/option-checks.js';

/** What is said where the module is imported, and can't come from a factory. */
export interface DistributedLockModuleExtras {
  /**
   * Registers the `LockService` under a name, for `@InjectLockService(name)` and `@Locked({ instance: name })`, so that
   * several modules can live in one application.
   */
  readonly name?: string | undefined;
  /**
   * Whether every module of the application can use the service without importing this one.
   *
   * @default true
   */
  readonly isGlobal?: boolean | undefined;
}

/** What a factory gives. The compiler's message about a `name` in it shows the property that nothing has. */
type FactoryOptions = DistributedLockOptions & {
  readonly [Name in keyof DistributedLockModuleExtras]?:
    { readonly 'goes beside useFactory': never } | undefined;
};

const RESOLVED_OPTIONS = Symbol('resolved options');
/** Named so that Nest's own error says what to write, where somebody imports the class without options. */
const ENGINE = Symbol('import DistributedLockModule.forRoot(…), not the class itself');

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } =
  new ConfigurableModuleBuilder<DistributedLockOptions>({ moduleName: 'DistributedLock' })
    .setClassMethodName('forRoot')
    .setExtras<DistributedLockModuleExtras>({ isGlobal: true, name: undefined }, (definition, extras) => ({
      ...definition,
      global: extras.isGlobal ?? true,
      imports: [...(definition.imports ?? []), LockLifecycleModule],
      providers: [...(definition.providers ?? []), ...providersOf(extras.name)],
      exports: [getLockServiceToken(extras.name)],
    }))
    .build();

/** Provides `LockService`, and what makes `@Locked` work on handlers. Import it once, into the root module. */
@onePerProcess('DistributedLockModule')
@Module({})
export class DistributedLockModule
  extends ConfigurableModuleClass
  implements OnModuleInit, OnApplicationShutdown
{
  constructor(
    @Inject(ENGINE) engine: LockEngine,
    @Inject(LockLifecycle) private readonly lifecycle: LockLifecycle,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    super();
    lifecycle.add({
      start: () => engine.start(),
      beginShutdown: () => {
        engine.shutdown.begin();
      },
      callsEnded: () => engine.shutdown.callsEnded(),
      close: () => engine.close(),
    });
    lifecycle.placeAround(new.target);
  }

  /** @throws LockOptionsError for options that can't work */
  static override forRoot(options: DistributedLockOptions & DistributedLockModuleExtras): DynamicModule {
    checkObject('DistributedLockModule.forRoot()', options);
    return super.forRoot(options);
  }

  /** With options from a factory, a class (method `create`) or an existing provider; `name` and `isGlobal` beside it. */
  static override forRootAsync(
    options: ConfigurableModuleAsyncOptions<FactoryOptions> & DistributedLockModuleExtras,
  ): DynamicModule {
    checkObject('DistributedLockModule.forRootAsync()', options);
    return super.forRootAsync(options);
  }

  /** The first hook of all, so that those of others can call locked methods. */
  onModuleInit(): void {
    serveGivenObjects(this.modules);
  }

  /** When everything that may use locks has stopped: the hooks of all other modules come before. */
  async onApplicationShutdown(): Promise<void> {
    await this.lifecycle.close();
  }
}

function providersOf(name: string | undefined): Provider[] {
  const service = getLockServiceToken(name);
  return [
    {
      provide: RESOLVED_OPTIONS,
      useFactory: resolveModuleOptions,
      inject: [MODULE_OPTIONS_TOKEN],
    },
    {
      provide: ENGINE,
      useFactory: (options: ResolvedModuleOptions, modules: ModulesContainer): LockEngine => {
        refuseNamesakes(modules, ENGINE, service, name);
        return new LockEngine(options.store, { ...options, instance: name }, new Logger('DistributedLock'));
      },
      inject: [RESOLVED_OPTIONS, ModulesContainer],
    },
    {
      provide: service,
      useFactory: (engine: LockEngine, options: ResolvedModuleOptions) =>
        new LockService(engine, options.waitTime, options.maxWaiting),
      inject: [ENGINE, RESOLVED_OPTIONS],
    },
    { provide: APP_INTERCEPTOR, useClass: LockInterceptor },
    {
      provide: APP_FILTER,
      useFactory: (
        modules: ModulesContainer,
        options: ResolvedModuleOptions,
        engine: LockEngine,
        locks: LockService,
      ): ExceptionFilter => {
        const settings = ErrorSettings.of(modules);
        settings.add(name, options, [engine.context, locks]);
        if (options.http !== false) filterGateways(modules);
        return lockExceptionFilterOf(settings);
      },
      inject: [ModulesContainer, RESOLVED_OPTIONS, ENGINE, service],
    },
  ];
}
