import { Inject, Module, type ConfigurableModuleAsyncOptions, type DynamicModule } from '@nestjs/common';
import type { LockAdmin } from '../api/lock-admin.js';
import type { FactoryOptions } from '../model/option-checks.js';
import { asyncOptions } from '../nest/module/async-options.js';
import { getLockAdminToken } from '../nest/module/lock-service.injection.js';
import { onePerProcess } from '../nest/module/one-per-process.js';
import {
  checkHealthDefaults,
  DEFAULTS,
  LockHealthIndicator,
  type LockHealthDefaults,
} from './lock-health.indicator.js';

/** Options that belong to the import of the module, not to the factory. */
export interface LockHealthModuleExtras {
  /**
   * The `name` of the `DistributedLockModule` to report.
   *
   * @default the unnamed module
   */
  readonly instance?: string | undefined;
}

/** Options of `LockHealthModule.forRoot`. */
export type LockHealthOptions = LockHealthDefaults & LockHealthModuleExtras;
/** Options of `LockHealthModule.forRootAsync`. */
export type LockHealthAsyncOptions = ConfigurableModuleAsyncOptions<
  FactoryOptions<LockHealthDefaults, keyof LockHealthModuleExtras>
> &
  LockHealthModuleExtras;

/** Provides `LockHealthIndicator` to the module that imports it. */
@onePerProcess('LockHealthModule')
@Module({})
export class LockHealthModule {
  constructor(@Inject(DEFAULTS) _defaults: unknown) {
    // Without them Nest's error says what to write.
  }

  /** @throws LockOptionsError for invalid options */
  static forRoot(options: LockHealthOptions = {}): DynamicModule {
    const { instance, ...defaults } = options;
    const useValue = checkHealthDefaults('LockHealthModule.forRoot()', defaults);
    return withIndicator(instance, { providers: [{ provide: DEFAULTS, useValue }] });
  }

  /** Takes the thresholds from a factory, a class (method `create`) or an existing provider; `instance` goes next to it. */
  static forRootAsync(options: LockHealthAsyncOptions): DynamicModule {
    const where = 'LockHealthModule.forRootAsync()';
    const provided = asyncOptions(where, options, DEFAULTS, checkHealthDefaults, 'instance');
    return withIndicator(options.instance, provided);
  }
}

function withIndicator(
  instance: string | undefined,
  { imports = [], providers = [] }: Pick<DynamicModule, 'imports' | 'providers'>,
): DynamicModule {
  const indicator = {
    provide: LockHealthIndicator,
    useFactory: (admin: LockAdmin, defaults: LockHealthDefaults) => new LockHealthIndicator(admin, defaults),
    inject: [getLockAdminToken(instance), DEFAULTS],
  };
  return {
    module: LockHealthModule,
    imports,
    providers: [...providers, indicator],
    exports: [LockHealthIndicator],
  };
}
