import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { runInThisContext } from 'node:vm';
import { MemoryLockStore } from '../../../lib/index.js';
import { LockApp } from '../../support/lock-app.js';
import { elapse, rejectionOf } from '../../support/until.js';

// Jest gives its tests a copy of `process` that real warnings never reach.
const realProcess = runInThisContext('process') as NodeJS.Process;

describe('B14: one signal for many waits', () => {
  let app: LockApp;
  let warnings: string[];
  // Node may warn at any moment about Jest's use of its modules.
  const warned = ({ name, message }: Error): void => {
    if (name !== 'ExperimentalWarning') warnings.push(`${name}: ${message}`);
  };
  const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

  beforeEach(async () => {
    warnings = [];
    realProcess.on('warning', warned);
    app = await LockApp.start({ store: new MemoryLockStore(), shutdownTimeout: 0 });
  });
  afterEach(async () => {
    realProcess.removeListener('warning', warned);
    await app.close();
  });

  /** Fifty waits for a lock that is held, on one signal. */
  const waits = (signal: AbortSignal, waitTime: number): Promise<unknown>[] =>
    Array.from({ length: 50 }, () => rejectionOf(app.locks.acquire('key', { signal, waitTime })));

  it('causes no leak warning of Node, and ends all of them with its reason', async () => {
    await app.locks.acquire('key');
    const stop = new AbortController();
    const failing = waits(stop.signal, Infinity);
    // Node warns a turn after the listener was added.
    await elapse(1);
    expect(warnings).toEqual([]);
    const reason = new Error('stopped by the test');
    stop.abort(reason);
    expect(new Set(await Promise.all(failing))).toEqual(new Set([reason]));
    expect(listenersOf(stop.signal)).toBe(0);
  });

  it('keeps no listener after a timeout, a grant or a single attempt', async () => {
    const { signal } = new AbortController();
    const handle = await app.locks.acquire('key', { signal });
    await Promise.all(waits(signal, 20));
    expect(await app.locks.tryAcquire('key', { signal })).toBeNull();
    const waiting = Array.from({ length: 50 }, async () => {
      const next = await app.locks.acquire('key', { signal });
      await next.release();
    });
    await handle.release();
    await Promise.all(waiting);
    expect(listenersOf(signal)).toBe(0);
    expect(warnings).toEqual([]);
  });

  it('serves a later wait after all earlier ones have ended', async () => {
    await app.locks.acquire('key');
    const stop = new AbortController();
    await Promise.all(waits(stop.signal, 10));
    const failing = rejectionOf(app.locks.acquire('key', { signal: stop.signal, waitTime: Infinity }));
    expect(listenersOf(stop.signal)).toBe(1);
    stop.abort('enough');
    expect(await failing).toBe('enough');
  });
});
