import { readFileSync } from 'node:fs';
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockService } from '../../dist/esm/index.js';

/** The library itself, as an application uses it: its built package, its module, its service. */
export const name = 'nestjs-distributed-lock';
export const kind = 'ours';
/** None but the address: the defaults of the module. */
export const settings = { readme: {} };

export const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/**
 * An application context with the module in it.
 *
 * @param {object} moduleOptions options of `DistributedLockModule.forRoot()`
 * @param {Function[]} [providers] classes that Nest is to create
 */
export async function openApplication(moduleOptions, providers = []) {
  class BenchModule {}
  const definition = {
    module: BenchModule,
    imports: [DistributedLockModule.forRoot(moduleOptions)],
    providers,
  };
  const app = await NestFactory.createApplicationContext(definition, { logger: ['error', 'warn'] });
  return { app, locks: app.get(LockService) };
}

export async function open(url, moduleOptions) {
  const { app, locks } = await openApplication({ redis: url, ...moduleOptions });
  return {
    version,
    withLock: (key, fn) => locks.withLock(key, fn),
    close: () => app.close(),
  };
}
