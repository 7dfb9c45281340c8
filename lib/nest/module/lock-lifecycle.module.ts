import { Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { onePerProcess } from './one-per-process.js';
import { LockLifecycle } from './lock-lifecycle.js';

/** Its hooks are the last when the application starts, and the first when it ends. */
@onePerProcess('LockLifecycleModule')
@Module({ providers: [LockLifecycle], exports: [LockLifecycle] })
export class LockLifecycleModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(private readonly lifecycle: LockLifecycle) {
    lifecycle.placeInside(LockLifecycleModule);
  }

  /** Not before, so that an application whose start fails leaves no connection open. Who needs a lock before connects. */
  async onApplicationBootstrap(): Promise<void> {
    await this.lifecycle.start();
  }

  onModuleDestroy(): void {
    this.lifecycle.beginShutdown();
  }
}
