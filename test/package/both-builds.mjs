/**
 * Loads both builds into one process, without Jest, like an application whose dependencies use different module systems.
 Prints its findings as one line of JSON.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as esm from 'nestjs-distributed-lock';
import * as esmTesting from 'nestjs-distributed-lock/testing';

const require = createRequire(import.meta.url);
const cjs = require('nestjs-distributed-lock');

/** A provider decorated through one build, without decorator syntax, which Node does not support. */
function providerOf(build) {
  class Provider {
    async reenter() {
      return 'entered';
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Provider.prototype, 'reenter');
  const replaced = build.Locked({ key: () => 'key', waitTime: 0 })(Provider.prototype, 'reenter', descriptor);
  Object.defineProperty(Provider.prototype, 'reenter', replaced ?? descriptor);
  return Provider;
}

/** Tests an application with the module of `wiring`; everything else comes from `other`. */
async function scopeCrosses(wiring, other) {
  const Provider = providerOf(other);
  class AppModule {}
  Module({ imports: [wiring.DistributedLockModule.forRoot({ store: 'memory' })], providers: [Provider] })(
    AppModule,
  );
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
  try {
    const service = app.get(wiring.LockService);
    const sameService = app.get(other.LockService) === service;
    const entered = await service.withLock('key', () => app.get(Provider).reenter());
    // The inner scope has left nothing behind.
    const afterwards = await service.isLocked('key');
    return { sameService, entered, afterwards };
  } finally {
    await app.close();
  }
}

/** The exports of an additional entry point that are identical in both builds. */
async function sameIn(entry) {
  const [module, required] = [
    await import(`nestjs-distributed-lock/${entry}`),
    require(`nestjs-distributed-lock/${entry}`),
  ];
  return Object.keys(module).filter((name) => name !== 'default' && module[name] === required[name]);
}

const names = [...new Set([...Object.keys(esm), ...Object.keys(cjs)])].filter(
  (name) => !['default', '__esModule', 'module.exports'].includes(name),
);
const same = {};
// `testing`: a test must fake the classes that the application uses.
for (const entry of ['testing', 'store', 'health', 'leader', 'prometheus', 'opentelemetry'])
  same[entry] = await sameIn(entry);
console.log(
  JSON.stringify({
    loaded: names.length,
    different: names.filter((name) => esm[name] === undefined || esm[name] !== cjs[name]),
    same,
    fakeIsService: new esmTesting.FakeLockService() instanceof cjs.LockService,
    esmWiring: await scopeCrosses(esm, cjs),
    cjsWiring: await scopeCrosses(cjs, esm),
  }),
);
