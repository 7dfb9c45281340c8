// Prints the files of the library that run during one uncontended `withLock` on Redis, and how many of their functions do, by
// V8's coverage.
// Arguments: the entry of the unbundled build, and the URL of a Redis server.
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';

const [entry, redis] = process.argv.slice(2);
const { DistributedLockModule, LockService } = await import(pathToFileURL(entry).href);
const app = await NestFactory.createApplicationContext(DistributedLockModule.forRoot({ redis }), {
  logger: ['error'],
});
const locks = app.get(LockService);
// Load the scripts and open the connection.
for (let warm = 0; warm < 20; warm++) await locks.withLock('order:1', () => undefined);

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
// On a busy machine timers fire during a call.
let least = { files: [], functions: Infinity };
for (let call = 0; call < 10; call++) {
  await locks.withLock('order:42', () => undefined);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const used = result.flatMap(({ url, functions }) =>
    functions.filter(({ ranges: [{ count }] }) => count > 0 && /\/build\/cjs\//.test(url)).map(() => url),
  );
  const files = [
    ...new Set(used.map((url) => url.replace(/^.*\/build\/cjs\/(.*)\.js$/, 'lib/$1.ts'))),
  ].sort();
  if (used.length < least.functions) least = { files, functions: used.length };
}
console.log(JSON.stringify(least));
await app.close();
