import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { LockLostError, MemoryLockStore, type LockOptions } from '../../../lib/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { engineOn } from '../../support/engines.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { elapse, until } from '../../support/until.js';

inVirtualTime();

describe('B60: a hold whose work has not ended when shutdownTimeout has passed', () => {
  let ending: LockEngine;
  let other: LockEngine;

  beforeEach(async () => {
    const store = new MemoryLockStore();
    ending = engineOn(store, { shutdownTimeout: 50 });
    other = engineOn(store);
    await Promise.all([ending.start(), other.start()]);
  });
  afterEach(async () => {
    await Promise.all([ending.close(), other.close()]);
  });

  const acquire = (options: LockOptions) =>
    ending.acquire('key', resolveLockOptions('a test', options, 5_000));

  it('keeps the lock of readers until the work of the last one ends', async () => {
    const first = await acquire({ mode: 'shared' });
    const second = await acquire({ mode: 'shared' });
    ending.shutdown.begin();
    await elapse(60);
    expect(first.signal.reason).toBeInstanceOf(LockLostError);
    await first.release();
    await elapse(10);
    expect(await other.inspector.isLocked('key')).toBe(true);
    await second.release();
    await until('the lock is free', async () => !(await other.inspector.isLocked('key')));
  });

  it('keeps the lock for holdAtLeast even if its work ends then', async () => {
    const hold = await acquire({ holdAtLeast: 1_000 });
    ending.shutdown.begin();
    await elapse(60);
    expect(await hold.release()).toBe('expired');
    await elapse(10);
    expect(await other.inspector.isLocked('key')).toBe(true);
  });
});
