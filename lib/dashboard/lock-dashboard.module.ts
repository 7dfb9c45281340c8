import {
  Inject,
  Module,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { lockAdminsOf } from '../instruments/sources.js';
import { LockOptionsError } from '../model/lock.errors.js';
import { Dashboard } from './dashboard.js';
import { controllerAt, DASHBOARD_OPTIONS } from './lock-dashboard.controller.js';
import { resolveDashboardOptions, type LockDashboardOptions } from './lock-dashboard.options.js';

/**
 * A page that shows the locks of all processes that import this module. Import it into the root module, in addition to
 * `DistributedLockModule`.
 */
@Module({})
export class LockDashboardModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    @Inject(Dashboard) private readonly dashboard: Dashboard,
    @Inject(ModulesContainer) private readonly modules: ModulesContainer,
  ) {}

  /**
   * Serves the page. The pages of other processes show the locks of this one, too.
   *
   * @throws LockOptionsError for invalid options, and if neither `guards` nor `access` says who may see the page
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

  /** Serves no page, for processes without HTTP or out of reach. The pages of other processes show the locks of this one. */
  static forWorker(): DynamicModule {
    return {
      module: LockDashboardModule,
      providers: [{ provide: Dashboard, useFactory: () => new Dashboard(false) }],
    };
  }

  onApplicationBootstrap(): void {
    const admins = lockAdminsOf(this.modules);
    if (admins.length === 0) {
      throw new LockOptionsError(
        'LockDashboardModule: there are no locks to show. Import DistributedLockModule.forRoot(…) into the root module, too.',
      );
    }
    this.dashboard.start(admins);
  }

  onModuleDestroy(): Promise<void> {
    return this.dashboard.stop();
  }
}
