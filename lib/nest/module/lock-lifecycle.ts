import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import type { LockEngine } from '../../engine/lock-engine.js';
import { forgetExit, noticeExit } from './exit-notice.js';

/** Starts and closes the engines of all module instances of an application together. */
@Injectable()
export class LockLifecycle {
  private readonly engines = new Set<LockEngine>();

  constructor(private readonly modules: ModulesContainer) {}

  add(engine: LockEngine): void {
    this.engines.add(engine);
  }

  /** The origin of errors that the application creates itself: the unnamed instance, else the first. */
  get defaultOrigin(): object {
    const engines = [...this.engines];
    return engines.find(({ instance }) => instance === undefined) ?? engines[0] ?? this;
  }

  /** @throws LockUnavailableError if a store that is required at the start is not fit for locks */
  async start(): Promise<void> {
    await this.all((engine) => engine.start());
    for (const engine of this.engines) noticeExit(engine);
    try {
      await this.all((engine) => engine.assertFit());
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** The application begins to shut down, and may still serve requests. */
  announceShutdown(): void {
    for (const { shutdown } of this.engines) shutdown.announce();
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
  constructor(private readonly lifecycle: LockLifecycle) {
    lifecycle.place(LockLifecycleModule, 'inside');
  }

  /**
   * The last hook, so that an application that fails to start leaves no connection open. Earlier calls connect on demand.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.lifecycle.start();
  }

  onModuleDestroy(): void {
    this.lifecycle.announceShutdown();
  }
}
