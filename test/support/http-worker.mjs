// A small HTTP application with a lock for each request, for tests of shutdown. Plain JavaScript, so that it starts
// without a compiler; decorators are applied by hand.
import 'reflect-metadata';
import { setTimeout as elapse } from 'node:timers/promises';
import { Controller, Get, Inject, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, Locked, LockService } from '../../dist/esm/index.js';

const { url, shutdownTimeout, work } = JSON.parse(process.argv[2]);

class WorkController {
  constructor(locks) {
    this.locks = locks;
  }

  async decorated(key) {
    return this.locksOf(key);
  }

  async byHand(key) {
    return this.locks.withLock(`by-hand-${key}`, () => this.locksOf(`by-hand-${key}`));
  }

  async locksOf(key) {
    const before = this.locks.current(key).isHeld;
    process.send?.({ inside: true });
    await elapse(work);
    return { before, after: this.locks.current(key).isHeld };
  }
}

decorate('decorated', Get('decorated/:key'), Locked({ key: (key) => key }));
decorate('byHand', Get('by-hand/:key'));
Inject(LockService)(WorkController, undefined, 0);
Controller()(WorkController);

class AppModule {}
Module({
  imports: [DistributedLockModule.forRoot({ redis: url, shutdownTimeout, waitTime: 20_000 })],
  controllers: [WorkController],
})(AppModule);

function decorate(name, ...decorators) {
  Param('key')(WorkController.prototype, name, 0);
  Reflect.defineMetadata('design:paramtypes', [String], WorkController.prototype, name);
  for (const decorator of decorators.reverse()) {
    const descriptor = Object.getOwnPropertyDescriptor(WorkController.prototype, name);
    const replaced = decorator(WorkController.prototype, name, descriptor) ?? descriptor;
    Object.defineProperty(WorkController.prototype, name, replaced);
  }
}

const app = await NestFactory.create(AppModule, { logger: false });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
process.send?.({ port: app.getHttpServer().address().port });
// From here on only leftovers of the application keep the process alive.
process.channel?.unref();
