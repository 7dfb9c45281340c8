import {
  Inject,
  Module,
  type ConfigurableModuleAsyncOptions,
  type DynamicModule,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { LockGauges } from '../instruments/lock-gauges.js';
import { LockRecorder } from '../instruments/lock-recorder.js';
import { lockAdminsOf } from '../instruments/sources.js';
import { checkOptions, option } from '../model/option-checks.js';
import { asyncOptions } from '../nest/module/async-options.js';
import { refuseLazyLoad } from '../nest/module/lazy-load.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import { LockCollectors, type AnyRegistry } from './lock-collectors.js';

export interface LockPrometheusOptions {
  /**
   * The registry that the application serves.
   *
   * @default the default registry of prom-client
   */
  readonly register?: AnyRegistry | undefined;
}

/** Options of `LockPrometheusModule.forRootAsync`. */
export type LockPrometheusAsyncOptions = ConfigurableModuleAsyncOptions<LockPrometheusOptions>;

const OPTIONS = Symbol('import LockPrometheusModule.forRoot(), not the class itself');

/**
 * Registers the metrics of all locks of this process in a registry of prom-client, from the start of the application to its
 * shutdown. Import it once, into the root module. Serving the registry is up to the application.
 */
@onePerProcess('LockPrometheusModule')
@Module({})
export class LockPrometheusModule implements OnModuleInit, OnApplicationShutdown {
  private readonly collectors: LockCollectors;
  private stop = (): void => undefined;

  constructor(
    @Inject(OPTIONS) { register }: LockPrometheusOptions,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    refuseLazyLoad(modules, LockPrometheusModule, 'LockPrometheusModule');
    this.collectors = new LockCollectors(register);
  }

  /** @throws LockOptionsError for invalid options */
  static forRoot(options: LockPrometheusOptions = {}): DynamicModule {
    const useValue = resolveOptions('LockPrometheusModule.forRoot()', options);
    return { module: LockPrometheusModule, providers: [{ provide: OPTIONS, useValue }] };
  }

  /** Takes the options from a factory, a class (method `create`) or an existing provider. */
  static forRootAsync(options: LockPrometheusAsyncOptions): DynamicModule {
    const where = 'LockPrometheusModule.forRootAsync()';
    return { module: LockPrometheusModule, ...asyncOptions(where, options, OPTIONS, resolveOptions) };
  }

  /** @throws LockOptionsError if the registry already has these metrics */
  onModuleInit(): void {
    this.collectors.register(new LockGauges(() => lockAdminsOf(this.modules)));
    this.stop = new LockRecorder(this.collectors).start();
  }

  /** The last hook: locks are in use until then. */
  onApplicationShutdown(): void {
    this.stop();
    this.collectors.remove();
  }
}

function resolveOptions(where: string, options: LockPrometheusOptions): LockPrometheusOptions {
  return checkOptions(where, options, { register: option('a Registry of prom-client', isRegistryLike) });
}

/** Checked by shape, since the application may have its own copy of prom-client. */
function isRegistryLike(value: unknown): value is AnyRegistry {
  return (
    typeof value === 'object' && value !== null && 'registerMetric' in value && 'removeSingleMetric' in value
  );
}
