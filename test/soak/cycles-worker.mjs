// Acquires and releases locks, gives up waits, and sends samples of its resources.
// Runs with --expose-gc.
import { timersSet } from './timer-census.mjs';
import 'reflect-metadata';
import { getEventListeners, once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';

const { build, redis, cycles, abandoned, samples } = JSON.parse(process.argv[2]);
const { DistributedLockModule, LockService } = await import(pathToFileURL(build).href);

const CALLERS = 50;
const HELD = 10;

async function open() {
  const app = await NestFactory.createApplicationContext(DistributedLockModule.forRoot({ redis }), {
    logger: ['error'],
  });
  return { app, locks: app.get(LockService) };
}

const [holder, user] = [await open(), await open()];
const admin = new Redis(redis);
/** A signal as applications use it: it exists from start to end and is passed to every call. */
const shutdown = new AbortController();
const { signal } = shutdown;
const held = await Promise.all(
  Array.from({ length: HELD }, (_, index) => holder.locks.acquire(`held-${index}`)),
);
const work = () => undefined;

/** Most locks are free, one is contended, some have a leaseTime. */
async function cycle(number) {
  const key = number % 10 === 0 ? 'hot' : `key-${number % 997}`;
  if (number % 3 === 0) await user.locks.withLock(key, { signal }, work);
  else {
    const options = number % 5 === 0 ? { signal, leaseTime: 5_000 } : { signal };
    await (await user.locks.acquire(key, options)).release();
  }
}

/** A wait that ends by time, by its own signal, or by a shared signal. */
async function giveUp(number) {
  const key = `held-${number % HELD}`;
  if (number % 2 === 0) {
    try {
      await user.locks.tryAcquire(key, { signal, waitTime: number % 4 === 0 ? 1 : 0 });
    } catch (error) {
      // A timeout before any reply is usual within a millisecond.
      if (error.code !== 'LOCK_UNAVAILABLE') throw error;
    }
    return;
  }
  const own = new AbortController();
  const wait = user.locks.acquire(key, { signal: own.signal, waitTime: 60_000 });
  setImmediate(() => own.abort());
  await wait.catch(work);
}

/** Makes `count` calls from concurrent callers. */
async function many(count, from, call) {
  let next = from;
  const end = from + count;
  const caller = async () => {
    while (next < end) await call(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}

async function sample(done) {
  // The last cancel requests are answered after their callers have ended.
  for (let left = -1, tries = 0; left !== 0 && tries < 500; tries++) {
    const names = await admin.keys('lock:@:[qw]*');
    left = names.length;
  }
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const connections = `${await admin.client('LIST')}`.trim().split('\n').length;
  process.send({
    done,
    heap: process.memoryUsage().heapUsed,
    timers: timersSet(),
    listeners: getEventListeners(signal, 'abort').length,
    connections,
    keys: await admin.dbsize(),
    at: performance.now(),
  });
}

// Before the first sample all code paths have run and all buffers have grown.
const warmUp = Math.min(5_000, Math.ceil(cycles / 10));
await many(warmUp, 0, cycle);
await many(Math.ceil(warmUp / 10), 0, giveUp);
await sample(0);
for (let part = 0; part < samples; part++) {
  const share = (total) => [Math.floor(total / samples), part * Math.floor(total / samples)];
  await many(...share(cycles), cycle);
  await many(...share(abandoned), giveUp);
  await sample((part + 1) / samples);
}
await Promise.all(held.map((lock) => lock.release()));
await Promise.all([holder.app.close(), user.app.close()]);
admin.disconnect();
await once(admin, 'end');
process.on('exit', () => {
  // By now closed sockets have cleared their timers.
  if (timersSet() > 0) process.stderr.write(`${timersSet()} timers were left\n`);
});
process.send({ closed: true });
process.disconnect();
