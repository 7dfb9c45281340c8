import { expect, it } from '@jest/globals';
import { backoff, LockTimeoutError, type LockHandle } from '../../../lib/index.js';
import type { LockApp } from '../../support/lock-app.js';
import { stopwatch } from '../../support/stopwatch.js';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { elapse, next, rejectionOf } from '../../support/until.js';

/** A server that thousands of callers of free locks address at once. */
export interface FloodScene {
  app(settings?: { readonly port?: number }): Promise<LockApp>;
  proxy(): Promise<Pick<TcpProxy, 'port' | 'delay'>>;
  key(): string;
  readonly server: { stop(): unknown; resume(): unknown };
  /** Whether the store has no readers. */
  readonly isExclusive?: boolean;
}

const HELD = 100;
const DEADLINE = 60_000;
/** `FLOOD=full` is for a machine that has nothing else to do. */
const [BURST, STALLED, STALL, RECOVERY] =
  process.env['FLOOD'] === 'full' ? [20_000, 5_000, 5_000, 10_000] : [4_000, 2_000, 0, 20_000];

/** Thousands of callers, whose requests no store carries out at once. */
export function floodRules(scene: FloodScene): void {
  /** An application with locks that it holds; `end` checks that it still does. */
  const holding = async (): Promise<LockApp & { end(): Promise<void> }> => {
    const app = await scene.app();
    const held = await Promise.all(Array.from({ length: HELD }, () => app.locks.acquire(scene.key())));
    const end = async (): Promise<void> => {
      expect(held.every(({ isHeld }) => isHeld)).toBe(true);
      expect(app.events('lost')).toEqual([]);
      const outcomes = await Promise.all(held.map((handle) => handle.release()));
      expect(new Set(outcomes)).toEqual(new Set(['released']));
    };
    return Object.assign(app, { end });
  };

  const acquireAll = (app: LockApp, count: number): Promise<unknown> => {
    const acquire = (): Promise<LockHandle> => app.locks.acquire(scene.key(), { waitTime: DEADLINE });
    return Promise.all(Array.from({ length: count }, async () => await (await acquire()).release()));
  };

  it(
    'F69: a burst of free keys is served, reports no outage, and costs no held lock',
    async () => {
      const app = await holding();
      await acquireAll(app, BURST);
      expect(app.events('unavailable')).toEqual([]);
      await app.end();
    },
    2 * DEADLINE,
  );

  it(
    'F69: callers of many keys acquire their locks soon after the server stood still, and no held lock is lost',
    async () => {
      const app = await holding();
      const noticed = next(app.locks.events, ({ type }) => type === 'unavailable', DEADLINE);
      await scene.server.stop();
      let took: () => number;
      const all = acquireAll(app, STALLED);
      try {
        await Promise.all([noticed, elapse(STALL)]);
      } finally {
        await scene.server.resume();
        took = stopwatch();
      }
      await all;
      expect(took()).toBeLessThan(RECOVERY);
      await app.end();
    },
    2 * DEADLINE,
  );

  it('F69, B11: many calls for one key over a slow network travel together, and never seem to be an outage', async () => {
    if (scene.isExclusive === true) return; // no readers
    const proxy = await scene.proxy();
    const [near, far] = [await scene.app(), await scene.app({ port: proxy.port })];
    proxy.delay(10);
    const [busy, retried, read] = [scene.key(), scene.key(), scene.key()];
    const held = await near.locks.acquire(busy);
    const tries = Promise.all(Array.from({ length: 200 }, () => far.locks.tryAcquire(busy)));
    const wait = rejectionOf(far.locks.acquire(busy, { waitTime: 500 }));
    expect(new Set(await tries)).toEqual(new Set([null]));
    expect(await wait).toBeInstanceOf(LockTimeoutError);
    await held.release();

    const retry = { backoff: backoff.fixed(50) };
    const retries = Array.from({ length: 50 }, async () => {
      const handle = await far.locks.acquire(retried, { retry, waitTime: DEADLINE });
      await handle.release();
    });
    await Promise.all(retries);

    const options = { mode: 'shared', leaseTime: DEADLINE, waitTime: 3_000 } as const;
    const readers = await Promise.all(Array.from({ length: 300 }, () => far.locks.acquire(read, options)));
    expect(new Set(readers.map(({ token }) => token)).size).toBe(readers.length);
    expect(far.admin.status().store.reachable).toBe(true);
    expect(far.events('unavailable')).toEqual([]);
    await Promise.all(readers.map((handle) => handle.release()));
  }, 60_000);
}
