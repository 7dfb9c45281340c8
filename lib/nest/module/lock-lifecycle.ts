import { Injectable, Module, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { onePerProcess } from './one-per-process.js';

/** What starts and ends with the application. */
interface LockUser {
  start(): Promise<void>;
  /** Shutdown has begun; nothing is refused yet. */
  beginShutdown(): void;
  /** Resolves when calls in flight, which may use the locks of all instances, have come to their end. */
  callsEnded(): Promise<void>;
  /** Everything else has stopped. */
  close(): Promise<void>;
}

/** The locks of all instances of the module in one application: they start together and end together. */
@onePerProcess('LockLifecycle')
@Injectable()
export class LockLifecycle {
  private readonly users = new Set<LockUser>();

  constructor(private readonly modules: ModulesContainer) {}

  add(user: LockUser): void {
    this.users.add(user);
  }

  async start(): Promise<void> {
    await Promise.all([...this.users].map((user) => user.start()));
  }

  beginShutdown(): void {
    for (const user of this.users) user.beginShutdown();
  }

  async close(): Promise<void> {
    await Promise.all([...this.users].map((user) => user.callsEnded()));
    await Promise.all([...this.users].map((user) => user.close()));
  }

  /** The hooks of this module come before those of all others when the application starts, and after them when it ends. */
  placeAround(module: unknown): void {
    this.place(module, Infinity);
  }

  /** The hooks of this module come after those of all others when the application starts, and before them when it ends. */
  placeInside(module: unknown): void {
    this.place(module, -Infinity);
  }

  /**
   * Nest calls hooks by the distance of modules from the root, which it calculates before it creates instances; global
   * modules have the largest number. Where a version of Nest has no such property, hooks come as Nest has them come.
   */
  private place(module: unknown, distance: number): void {
    for (const candidate of this.modules.values() as Iterable<Partial<PlacedModule>>) {
      if (candidate.metatype !== module || typeof candidate.distance !== 'number') continue;
      candidate.distance = distance;
    }
  }
}

/** What is used of a module of Nest's container. */
interface PlacedModule {
  readonly metatype: unknown;
  distance: number;
}

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
