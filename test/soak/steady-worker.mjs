// One process of a steady run: many callers without faults, for as long as the run lasts. It reports figures when asked,
// and keeps its connections open at rest. Runs with --expose-gc; its settings are the one argument.
import { timersSet } from './timer-census.mjs';
import 'reflect-metadata';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { moduleOptions } from './servers/module-options.mjs';

const { id, store, url, build, callers, keys, watchdogTimeout } = JSON.parse(process.argv[2]);
const { DistributedLockModule, LockService } = await import(pathToFileURL(build).href);

/** Holds under the watchdog that last as long as the run. */
const LONG_HOLDS = 25;
const READERS = 4;

const app = await NestFactory.createApplicationContext(
  DistributedLockModule.forRoot({
    ...(await moduleOptions(store, url, build)),
    watchdogTimeout,
    waitTime: 60_000,
  }),
  { logger: ['error'] },
);
const locks = app.get(LockService);
const counts = { hot: 0, fresh: 0, shared: 0, permits: 0, timedOut: 0 };
const work = () => undefined;
const ignoreUnavailable = (error) => {
  if (error.code !== 'LOCK_UNAVAILABLE') throw error;
};
const longHolds = await Promise.all(
  Array.from({ length: LONG_HOLDS }, (_, index) => locks.acquire(`long-${id}-${index}`)),
);
let running = true;
let next = 0;

const acts = {
  hot: (caller) => locks.withLock(`hot-${caller % keys}`, work),
  fresh: () => locks.withLock(`order:${id}-${next++}`, work),
  shared: () => locks.withLock('report', { mode: 'shared' }, work),
  permits: () => locks.withLock('pool', { limit: 4 }, work),
  timedOut: async (caller) => {
    const other = (id + 1) % 2;
    const key = `long-${other}-${caller % LONG_HOLDS}`;
    // A timeout without a reply is usual on a busy machine; the other process may not hold the lock yet, either.
    const taken = await locks.tryAcquire(key, { waitTime: 20 }).catch(ignoreUnavailable);
    await taken?.release();
  },
};

async function repeat(kind, caller) {
  while (running) {
    await acts[kind](caller);
    counts[kind]++;
  }
}

const callersOf = {
  hot: callers,
  fresh: Math.ceil(callers / 3),
  shared: READERS,
  permits: READERS,
  timedOut: 1,
};
const ended = Promise.all(
  Object.entries(callersOf).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, caller) => repeat(kind, caller)),
  ),
);

const answers = {
  sample() {
    // Twice: objects finalised by the first collection are freed by the second.
    globalThis.gc();
    globalThis.gc();
    const { user, system } = process.cpuUsage();
    return {
      counts: { ...counts },
      heap: process.memoryUsage().heapUsed,
      timers: timersSet(),
      cpu: (user + system) / 1_000,
    };
  },
  async rest() {
    running = false;
    await ended;
    await Promise.all(longHolds.map((lock) => lock.release()));
    return answers.sample();
  },
  async close() {
    await app.close();
    setImmediate(() => process.disconnect());
  },
};
process.on('message', async (question) => process.send({ answer: await answers[question]() }));
process.send({ answer: 'ready' });
