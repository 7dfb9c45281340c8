import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { ErrorOrigin } from '../../model/lock.errors.js';
import type { LockEngine } from '../../engine/lock-engine.js';
import { forgetExit, noticeExit } from './exit-notice.js';
import { refuseLazyLoad } from './lazy-load.js';

/** Work of the library that uses locks as long as the application runs. */
export interface LockingWork {
  /** @throws if the application must not start */
  start(): void;
  /** Resolves when it has ended. */
  stop(): Promise<void>;
}

/** Starts and closes the engines of all module instances of an application together. */
@Injectable()
export class LockLifecycle {
  /** From the end of the application's bootstrap. Modules that are loaded later have no hooks of their own. */
  isRunning = false;
  private readonly engines = new Set<LockEngine>();
  private readonly works = new Set<LockingWork>();

  constructor(private readonly modules: ModulesContainer) {}

  add(engine: LockEngine): void {
    this.engines.add(engine);
    if (this.isRunning) noticeExit(engine);
  }

  /** Begins after all hooks of the start, and ends before those of the shutdown. */
  addWork(work: LockingWork): void {
    this.works.add(work);
    if (this.isRunning) work.start();
  }

  /** The origin of errors that the application creates itself: the unnamed instance, else the first. */
  get defaultOrigin(): ErrorOrigin | undefined {
    const engines = [...this.engines];
    return engines.find(({ instance }) => instance === undefined) ?? engines[0];
  }

  /** @throws LockUnavailableError if a store that is required at the start is not fit for locks */
  async start(): Promise<void> {
    await this.all((engine) => engine.start());
    for (const engine of this.engines) noticeExit(engine);
    try {
      await this.all((engine) => engine.assertFit());
      for (const work of this.works) work.start();
      this.isRunning = true;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The application begins to shut down, and may still serve requests. Ends work of the library. */
  async announceShutdown(): Promise<void> {
    this.isRunning = false;
    for (const { shutdown } of this.engines) shutdown.announce();
    await Promise.all([...this.works].map((work) => work.stop()));
  }

  /** Nest stops its servers next. Starts the time limit `shutdownTimeout`; locks stay usable until {@link close}. */
  beginShutdown(): void {
    for (const { shutdown } of this.engines) shutdown.begin();
  }

  async close(): Promise<void> {
    // Calls in flight may use the locks of any instance.
    await this.all(({ shutdown }) => shutdown.callsEnded());
    await this.all((engine) => engine.close());
    for (const engine of this.engines) forgetExit(engine);
  }

  /**
   * Runs the hooks of a module before those of all others at start and after them at shutdown (`around`), or the
   * reverse (`inside`).
   *
   * Nest calls hooks in the order of the modules' distance from the root, which it calculates before it creates
   * instances; global modules have the largest. It offers no other way to order hooks across modules.
   */
  place(module: unknown, where: 'around' | 'inside'): void {
    for (const candidate of this.modules.values()) {
      if (candidate.metatype === module) candidate.distance = where === 'around' ? Infinity : -Infinity;
    }
  }

  private async all(step: (engine: LockEngine) => Promise<void>): Promise<void> {
    await Promise.all([...this.engines].map(step));
  }
}

/** Its hooks are the last at start and the first at shutdown. */
@Module({ providers: [LockLifecycle], exports: [LockLifecycle] })
export class LockLifecycleModule implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(
    private readonly lifecycle: LockLifecycle,
    modules: ModulesContainer,
  ) {
    refuseLazyLoad(modules, LockLifecycleModule, 'DistributedLockModule');
    lifecycle.place(LockLifecycleModule, 'inside');
  }

  /**
   * The last hook, so that an application that fails to start leaves no connection open. Earlier calls connect on demand.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.lifecycle.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.lifecycle.announceShutdown();
  }
}
