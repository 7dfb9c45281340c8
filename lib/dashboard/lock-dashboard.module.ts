import {
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { lockServicesOf } from '../instruments/lock-services.js';
import { LockOptionsError } from '../model/lock.errors.js';
import { Dashboard } from './dashboard.js';
import { controllerAt, DASHBOARD_OPTIONS } from './lock-dashboard.controller.js';
import { resolveDashboardOptions, type LockDashboardOptions } from './lock-dashboard.options.js';

/**
 * A page that shows the locks of all processes which have this module. Import it into the root module, beside
 * `DistributedLockModule`.
 */
@Module({})
export class LockDashboardModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(Dashboard) private readonly dashboard: Dashboard,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /**
   * The page, which also shows the locks of this process to the pages of others.
   *
   * @throws LockOptionsError for options that can't work, and for a page that nothing is said of who may see it
   */
  static forRoot(options: LockDashboardOptions): DynamicModule {
    const resolved = resolveDashboardOptions(options);
    return {
      module: LockDashboardModule,
      imports: resolved.imports,
      controllers: [controllerAt(resolved)],
      providers: [
        { provide: DASHBOARD_OPTIONS, useValue: resolved },
        { provide: Dashboard, useFactory: () => new Dashboard(resolved.allowBreak) },
      ],
    };
  }

  /** No page: for processes without HTTP, or those that nobody reaches. The pages of others show the locks of this one. */
  static forWorker(): DynamicModule {
    return {
      module: LockDashboardModule,
      providers: [{ provide: Dashboard, useFactory: () => new Dashboard(false) }],
    };
  }

  onApplicationBootstrap(): void {
    const services = lockServicesOf(this.modules);
    if (services.length === 0) {
      throw new LockOptionsError(
        'LockDashboardModule: there are no locks to show. Import DistributedLockModule.forRoot(…) into the root module, too.',
      );
    }
    this.dashboard.start(services);
  }

  onModuleDestroy(): Promise<void> {
    return this.dashboard.stop();
  }
}
