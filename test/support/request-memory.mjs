// Checks that the `AsyncLocalStorage` data of a request is freed after it has ended, even if it was the first to need a
// connection, a subscription, the watchdog or a timer, which live on. Run with --expose-gc; prints the names of the
// requests whose data is still in memory.
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as elapse } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockAdmin, LockService } from '../../dist/esm/index.js';

const options = JSON.parse(process.argv[2]);
const start = async () => {
  const module = DistributedLockModule.forRoot({ ...options, shutdownTimeout: 0 });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  return { app, locks: app.get(LockService), admin: app.get(LockAdmin) };
};
const [one, other] = [await start(), await start()];
const { locks, admin } = one;
const requests = new AsyncLocalStorage();
const stores = new Map();

/** Runs a request and watches the memory of its data. */
async function request(name, work) {
  const store = { name, data: new Array(1_000).fill(name) };
  stores.set(name, new WeakRef(store));
  return await requests.run(store, work);
}

const held = [];
await request('acquires a lock and keeps it', async () => {
  held.push(await locks.acquire('kept'));
});
const taker = await other.locks.acquire('taken');
// Requests that continue are not watched, since their data must stay.
const going = locks.acquire('taken', { waitTime: Infinity });
await request('times out on a lock', () => locks.acquire('taken', { waitTime: 30 }).catch(() => undefined));
await request('times out on a permit', async () => {
  await locks.acquire('taken', { mode: 'shared', waitTime: 30 }).catch(() => undefined);
});
await request('keeps a lock with a leaseTime', async () => {
  held.push(await locks.acquire('leased', { leaseTime: 60_000 }));
});
await request('keeps a lock with holdAtLeast', async () => {
  await locks.withLock('at least', { holdAtLeast: 60_000 }, () => undefined);
});
await request('tries again', async () => {
  await locks.acquire('taken', { waitTime: 40, retry: { maxAttempts: 3 } }).catch(() => undefined);
});
await request('holds locks and releases them', () => locks.withLock(['a', 'b'], () => undefined));
await request('looks', () => admin.inspect('taken'));

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
