/**
 * Loads both builds into one process on a plain Node, as an application does whose dependencies disagree on the module
 * system, and prints what it found as one line of JSON.
 */
import 'reflect-metadata';
import { createRequire } from 'node:module';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import * as esm from 'nestjs-distributed-lock';
import * as esmTesting from 'nestjs-distributed-lock/testing';

const require = createRequire(import.meta.url);
const cjs = require('nestjs-distributed-lock');
const cjsTesting = require('nestjs-distributed-lock/testing');

/** A provider that is decorated through one build, written without the syntax that Node does not know. */
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

/** One application with the module of `wiring`; everything else comes from `other`. */
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
    // The inner scope gave nothing up and left nothing behind.
    const afterwards = await service.isLocked('key');
    return { sameService, entered, afterwards };
  } finally {
    await app.close();
  }
}

/** What an entry beside the package exports, if it is the same in both builds. */
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
console.log(
  JSON.stringify({
    loaded: names.length,
    different: names.filter((name) => esm[name] === undefined || esm[name] !== cjs[name]),
    // What a test fakes is what the application uses.
    testing: Object.keys(esmTesting).filter((name) => esmTesting[name] === cjsTesting[name]),
    health: await sameIn('health'),
    leader: await sameIn('leader'),
    prometheus: await sameIn('prometheus'),
    opentelemetry: await sameIn('opentelemetry'),
    fakeIsService: new esmTesting.FakeLockService() instanceof cjs.LockService,
    esmWiring: await scopeCrosses(esm, cjs),
    cjsWiring: await scopeCrosses(cjs, esm),
  }),
);
