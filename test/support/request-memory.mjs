// Whether what a request keeps in `AsyncLocalStorage` is let go of when it has ended, though it was the first to need a
// connection, a subscription, the watchdog or a timer, which live on. Run with --expose-gc; prints the names of the
// requests whose memory is still there after all of it should have gone.
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as elapse } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockService } from '../../dist/esm/index.js';

const options = JSON.parse(process.argv[2]);
const start = async () => {
  const module = DistributedLockModule.forRoot({ ...options, shutdownTimeout: 0 });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  return { app, locks: app.get(LockService) };
};
const [one, other] = [await start(), await start()];
const { locks } = one;
const requests = new AsyncLocalStorage();
const stores = new Map();

/** Runs a request whose memory is watched. */
async function request(name, work) {
  const store = { name, data: new Array(1_000).fill(name) };
  stores.set(name, new WeakRef(store));
  return await requests.run(store, work);
}

const held = [];
await request('takes a lock and keeps it', async () => {
  held.push(await locks.acquire('kept'));
});
const taker = await other.locks.acquire('taken');
// Those that go on are not watched: they keep their own.
const going = locks.acquire('taken', { waitTime: Infinity });
await request('waits for a lock in vain', () =>
  locks.acquire('taken', { waitTime: 30 }).catch(() => undefined),
);
await request('waits for a share in vain', async () => {
  await locks.acquire('taken', { mode: 'shared', waitTime: 30 }).catch(() => undefined);
});
await request('keeps a lock with a lease', async () => {
  held.push(await locks.acquire('leased', { leaseTime: 60_000 }));
});
await request('keeps a lock for at least a while', async () => {
  await locks.withLock('at least', { holdAtLeast: 60_000 }, () => undefined);
});
await request('tries again', async () => {
  await locks.acquire('taken', { waitTime: 40, retry: { maxAttempts: 3 } }).catch(() => undefined);
});
await request('works and is done', () => locks.withLock(['a', 'b'], () => undefined));
await request('looks', () => locks.inspect('taken'));

const left = () => [...stores].filter(([, store]) => store.deref() !== undefined).map(([name]) => name);
const end = performance.now() + 8_000;
do {
  await elapse(20);
  globalThis.gc();
} while (left().length > 0 && performance.now() < end);
process.stdout.write(`${JSON.stringify(left())}\n`);
await taker.release();
await (await going).release();
await Promise.all(held.map((handle) => handle.release()));
await Promise.all([one.app.close(), other.app.close()]);
