import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { MemoryLockStore, type ReleaseOutcome } from '../../../lib/index.js';
import {
  LockStoreError,
  type LockStore,
  type LockStoreClient,
  type LockStoreSession,
  type OwnerId,
} from '../../../lib/stores/port/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { engineOn, fakeClock } from '../../support/engines.js';

const unreachable = new LockStoreError('the store is unreachable', { inDoubt: true, retryable: true });

/** A memory store that records renewals and releases, and may be unreachable. */
class RecordingStore implements LockStore {
  readonly name = 'a recording store';
  readonly written: unknown[] = [];
  isUnreachable = false;
  /** Latency of a renewal, ms. */
  delay = 0;
  client: LockStoreClient | undefined;

  open(client: LockStoreClient): LockStoreSession {
    this.client = client;
    const session = new MemoryLockStore().open(client);
    session.renew = async ([request]) => {
      const { delay } = this;
      if (delay > 0) await new Promise((resolve) => void setTimeout(resolve, delay));
      if (this.isUnreachable) throw unreachable;
      this.written.push(request?.exactly === true ? request.lease : 'a renewal');
      return ['renewed'];
    };
    const release = session.release.bind(session);
    session.release = (request) => {
      this.written.push(`release of ${request.key}`);
      return release(request);
    };
    return session;
  }
}

describe('locks that stay unavailable after their hold (holdAtLeast)', () => {
  let store: RecordingStore;
  let engine: LockEngine;

  beforeEach(() => {
    jest.useFakeTimers();
    store = new RecordingStore();
    engine = engineOn(store, { shutdownTimeout: 1_000 }, fakeClock);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Acquires and releases the lock; returns the outcome of the release. */
  const use = async (holdAtLeast: number, worksFor: number): Promise<ReleaseOutcome> => {
    const hold = await engine.acquire('k', resolveLockOptions('a test', { holdAtLeast }, 5_000));
    await jest.advanceTimersByTimeAsync(worksFor);
    const releasing = hold.release();
    await jest.advanceTimersByTimeAsync(600);
    return await releasing;
  };

  it('a failed renewal is retried, with the rest of the minimum hold', async () => {
    store.isUnreachable = true;
    expect(await use(5_000, 1_000)).toBe('unknown');
    store.isUnreachable = false;
    store.client?.pollNow();
    await jest.advanceTimersByTimeAsync(0);
    expect(store.written).toEqual([3_400]);
    await jest.advanceTimersByTimeAsync(3_400);
    expect(store.written).toEqual([3_400, 'release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B14: a renewal to an unreachable store is retried only until the minimum hold ends', async () => {
    store.isUnreachable = true;
    await use(5_000, 1_000);
    await jest.advanceTimersByTimeAsync(10_000);
    store.isUnreachable = false;
    await jest.advanceTimersByTimeAsync(60_000);
    expect(store.written).toEqual(['release of k']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B60, B14: no release follows a renewal that outlasts the shutdown', async () => {
    store.delay = 20_000;
    const hold = await engine.acquire('k', resolveLockOptions('a test', { holdAtLeast: 1_000 }, 5_000));
    await jest.advanceTimersByTimeAsync(900);
    void hold.release();
    const closing = engine.close();
    await jest.advanceTimersByTimeAsync(60_000);
    await closing;
    expect(store.written).toEqual([100]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('B14: a lock that was broken by force needs no release', async () => {
    await use(60_000, 1_000);
    expect(jest.getTimerCount()).toBe(1);
    store.client?.broken(`${store.client.id}:1` as OwnerId);
    expect(jest.getTimerCount()).toBe(0);
    expect(store.written).toEqual([59_000]);
  });
});
