import { expect } from '@jest/globals';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { next } from '../support/until.js';
import type { StoreScene } from './scenes/store-scene.js';

interface Scene {
  app(settings?: { readonly watchdogTimeout?: number; readonly port?: number }): Promise<LockApp>;
  key(): string;
}

/**
 * F52: deletes data of the store while one process holds a lock and another waits for it. The holder is notified if its hold is
 * lost by that, the waiter is served, and tokens grow in every process.
 *
 * @param remove deletes the data; `key`: that of the lock
 * @param ends whether the hold is lost by that
 * @returns the key, and the processes
 */
export async function deleteUnder(
  scene: Scene,
  remove: (key: string) => Promise<unknown>,
  ends: boolean,
  watchdogTimeout = 3_000,
): Promise<{ readonly key: string; readonly holder: LockApp; readonly idle: LockApp }> {
  const holder = await scene.app({ watchdogTimeout });
  const [waiter, idle] = [await scene.app(), await scene.app()];
  const [key, other] = [scene.key(), scene.key()];
  const held = await holder.locks.acquire(key);
  const waiting = waiter.locks.acquire(key, { waitTime: 10_000 });
  await queuedIn(waiter, key);
  const lost = next(holder.locks.events, (event) => event.type === 'lost', 5_000);
  if (!ends) lost.catch(() => undefined);
  await remove(key);
  if (ends) await lost;
  else {
    // What is lost with a connection is requested again.
    const free = await holder.locks.acquire(other, { waitTime: 2_000 });
    expect(await held.release()).toBe('released');
    await free.release();
  }
  const served = await waiting;
  expect(served.token).toBeGreaterThan(held.token);
  await served.release();
  await tokensGrow(key, served.token, [idle, holder, waiter]);
  return { key, holder, idle };
}

/** F52: the same while the connections of the holder are cut. */
export async function deleteWhileCut(
  scene: Scene & Pick<StoreScene, 'proxy'>,
  remove: () => Promise<unknown>,
  ends: boolean,
): Promise<void> {
  const proxy = await scene.proxy();
  const app = await scene.app({ port: proxy.port });
  const key = scene.key();
  const held = await app.locks.acquire(key);
  await proxy.refuse();
  proxy.cut();
  await remove();
  const back = next(app.locks.events, (event) => event.type === (ends ? 'lost' : 'renewed'), 15_000);
  await proxy.accept();
  await back;
  expect(held.isHeld).toBe(!ends);
  if (!ends) await held.release();
  await tokensGrow(key, held.token, [app]);
}

/** The processes acquire the lock at once, and each gets a larger token. */
export async function tokensGrow(key: string, least: number, apps: readonly LockApp[]): Promise<void> {
  let last = least;
  for (const app of [...apps, ...apps]) {
    const handle = await app.locks.acquire(key, { waitTime: 3_000 });
    expect(handle.token).toBeGreaterThan(last);
    last = handle.token;
    expect(await handle.release()).toBe('released');
  }
}
