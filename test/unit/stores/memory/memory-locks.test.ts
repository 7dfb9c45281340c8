import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore } from '../../../../lib/index.js';
import { PortClient } from '../../../contract/port-client.js';
import { inVirtualTime } from '../../../support/in-virtual-time.js';
import { elapse } from '../../../support/until.js';

inVirtualTime();

describe('locks in memory whose leases have ended', () => {
  const clients = (store = new MemoryLockStore()) =>
    Promise.all([PortClient.open(store), PortClient.open(store)]);

  it('have no limit of waiters that no longer poll', async () => {
    const [a, b] = await clients();
    const two = { limit: 2, lease: 100 };
    for (let count = 0; count < 2; count++) await a.acquire('key', a.newOwner(), two);
    await b.acquire('key', b.newOwner(), { ...two, wait: true });
    await elapse(30_000);
    expect(await a.acquire('key', a.newOwner())).toMatchObject({ outcome: 'granted' });
  });

  it('are granted to the waiters behind one that asks again', async () => {
    const [a, b] = await clients();
    const two = { limit: 2, lease: 100 };
    for (let count = 0; count < 2; count++) await a.acquire('key', a.newOwner(), two);
    const [first, second] = [a.newOwner(), b.newOwner()];
    await a.acquire('key', first, { ...two, wait: true });
    await b.acquire('key', second, { ...two, wait: true });
    await elapse(150);
    expect(await a.acquire('key', first, { ...two, wait: true })).toMatchObject({ outcome: 'granted' });
    await b.granted(second);
  });

  it('are granted to their waiters by a request with another limit', async () => {
    const [a, b] = await clients();
    const waiter = b.newOwner();
    await a.take('key', a.newOwner(), 100);
    await b.acquire('key', waiter, { wait: true });
    await elapse(150);
    expect(await a.acquire('key', a.newOwner(), { limit: 3 })).toMatchObject({ outcome: 'conflict' });
    await b.granted(waiter);
  });

  it('are not broken by a forced release, which serves their waiters', async () => {
    const [a, b] = await clients();
    const [holder, waiter] = [a.newOwner(), b.newOwner()];
    await a.take('key', holder, 1_000);
    await b.acquire('key', waiter, { wait: true });
    await elapse(1_500);
    expect(await a.forceRelease('key')).toBe(false);
    await b.granted(waiter);
    expect(a.broken).toEqual([]);
  });
});
