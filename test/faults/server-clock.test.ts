import { describe, expect, it } from '@jest/globals';
import { FencedRegister } from '../support/exclusion-witness.js';
import { queuedIn } from '../support/lock-app.js';
import { next, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';
import { throughout } from './topology-scene.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const watchdogTimeout = 1_800;
/** Within which a loss is reported: a renewal interval and the time of a request (R). */
const SOON = watchdogTimeout / 3 + watchdogTimeout / 6;

describe('F31: the clock of the server', () => {
  const scene = new RedisScene({ clock: true });

  it('jumps ahead: leases expire, their holders are notified, and tokens keep growing', async () => {
    scene.server.setClock(0);
    const [holder, waiter] = [await scene.app({ watchdogTimeout }), await scene.app()];
    const key = scene.key();
    const register = new FencedRegister();
    const held = await holder.locks.acquire(key);
    register.write(held.token, 'first');
    const waiting = waiter.locks.acquire(key, { waitTime: 10_000 });
    await queuedIn(waiter, key);
    const lost = next(holder.locks.events, (event) => event.type === 'lost');
    scene.server.setClock(MINUTE);
    await within(SOON + 500, 'the news of the loss', lost);
    expect(held.isHeld).toBe(false);
    const got = await within(2_500, 'the waiter', waiting);
    expect(got.token).toBeGreaterThan(held.token);
    expect(register.write(got.token, 'second')).toBe('written');
    expect(register.write(held.token, 'ghost')).toBe('refused');
    expect(await held.release()).toBe('expired');
    expect(got.isHeld).toBe(true);
    await got.release();
    await scene.nothingLeft();
  });

  it('is set back: holds are renewed, waiters are served, and tokens keep growing', async () => {
    scene.server.setClock(0);
    const [holder, waiter] = [await scene.app({ watchdogTimeout }), await scene.app()];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, { waitTime: 20_000 });
    await queuedIn(waiter, key);
    scene.server.setClock(-HOUR);
    await throughout(2 * watchdogTimeout, 'held', () => held.isHeld);
    expect(holder.events('lost')).toEqual([]);
    expect(await held.release()).toBe('released');
    const got = await within(2_500, 'the waiter', waiting);
    expect(got.token).toBeGreaterThan(held.token);
    await got.release();
    // Also among callers that arrive later.
    let last = got.token;
    for (let round = 0; round < 5; round += 1) {
      const app = round % 2 ? holder : waiter;
      const token = await app.locks.withLock(key, (lock) => lock.token);
      expect(token).toBeGreaterThan(last);
      last = token;
    }
    scene.server.setClock(0);
    expect(await holder.locks.withLock(key, (lock) => lock.token)).toBeGreaterThan(last);
    await scene.nothingLeft();
  });
});
