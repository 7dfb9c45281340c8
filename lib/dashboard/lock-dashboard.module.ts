import {
  Controller,
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { LockAdmin } from '../api/lock-admin.js';
import { lockAdminsOf } from '../instruments/sources.js';
import { LockOptionsError } from '../model/lock.errors.js';
import { Dashboard } from './dashboard.js';
import { asyncOptions } from '../nest/module/async-options.js';
import { refuseLazyLoad } from '../nest/module/lazy-load.js';
import { controllerOf, DASHBOARD_OPTIONS, FactoryGuards } from './lock-dashboard.controller.js';
import {
  resolveDashboardOptions,
  resolveFactoryOptions,
  type LockDashboardAsyncOptions,
  type LockDashboardFactoryOptions,
  type LockDashboardOptions,
  type ResolvedDashboardOptions,
} from './lock-dashboard.options.js';

const DASHBOARD = {
  provide: Dashboard,
  useFactory: ({ allowBreak }: ResolvedDashboardOptions) => new Dashboard(allowBreak),
  inject: [DASHBOARD_OPTIONS],
};

/**
 * A page that shows the locks of all processes that import this module. Import it into the root module, in addition to
 * `DistributedLockModule`.
 */
@Module({})
export class LockDashboardModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(DASHBOARD_OPTIONS) _options: unknown,
    @Inject(Dashboard) private readonly dashboard: Dashboard,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {
    refuseLazyLoad(modules, LockDashboardModule, 'LockDashboardModule');
  }

  /**
   * Serves the page, unless `page` is `false`. The pages of other processes also show the locks of this one.
   *
   * @throws LockOptionsError for invalid options, and if neither `guards` nor `access` sets who may see the page
   */
  static forRoot(options: LockDashboardOptions): DynamicModule {
    const resolved = resolveDashboardOptions(options);
    return {
      module: LockDashboardModule,
      imports: resolved.imports,
      controllers: resolved.page ? [controllerOf(resolved)] : [],
      providers: [{ provide: DASHBOARD_OPTIONS, useValue: resolved }, DASHBOARD],
    };
  }

  /**
   * Serves the page with options, including its path, from a factory, a class (method `create`) or an existing
   * provider. Guards are injected into the factory, which returns them.
   */
  static forRootAsync(options: LockDashboardAsyncOptions): DynamicModule {
    const page = controllerOf({ path: '', guards: [FactoryGuards] });
    const resolve = (_where: string, given: LockDashboardFactoryOptions): ResolvedDashboardOptions => {
      const resolved = resolveFactoryOptions(given);
      Controller(resolved.path)(page);
      return resolved;
    };
    const where = 'LockDashboardModule.forRootAsync()';
    const { imports, providers } = asyncOptions(where, options, DASHBOARD_OPTIONS, resolve);
    return {
      module: LockDashboardModule,
      imports,
      controllers: [page],
      providers: [...providers, DASHBOARD],
    };
  }

  onApplicationBootstrap(): void {
    const admins = (): readonly LockAdmin[] => lockAdminsOf(this.modules);
    if (admins().length === 0) {
      throw new LockOptionsError(
        'LockDashboardModule: there are no locks to show. Also import DistributedLockModule.forRoot(…) into the root module.',
      );
    }
    this.dashboard.start(admins);
  }

  onModuleDestroy(): Promise<void> {
    return this.dashboard.stop();
  }
}
