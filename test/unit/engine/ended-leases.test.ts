import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError } from '../../../lib/index.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { lockApps } from '../../support/lock-app.js';
import { blockEventLoop, rejectionOf, until } from '../../support/until.js';

inVirtualTime();

const start = lockApps({ store: 'memory', shutdownTimeout: 0 });

describe('a lease that ends during its release', () => {
  it('B20: ends once, and other locks are still renewed', async () => {
    const app = await start({ watchdogTimeout: 3_000 });
    const { locks } = app;
    await locks.withLock('warm', () => undefined);
    const ending = await locks.acquire('ending', { leaseTime: 300 });
    const waiting = rejectionOf(locks.acquire('ending', { waitTime: 50 }));
    const beside = await locks.acquire('beside');
    // The waiter's waitTime has ended, but its timer has not fired yet.
    blockEventLoop(100);
    let blocked = false;
    locks.events.subscribe(({ type }) => {
      if (type !== 'released' || blocked) return;
      blocked = true;
      blockEventLoop(300);
    });
    expect(await ending.release()).toBe('expired');
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    await until('the lock beside it is renewed', () => app.events('renewed', 'beside').length > 0);
    expect(await beside.release()).toBe('released');
  });
});
