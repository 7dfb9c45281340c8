import { describe, expect, it } from '@jest/globals';
import { OrderedMemory } from '../support/ordered-memory.js';
import { lockStoreContract } from './lock-store.contract.js';
import { PortClient } from './port-client.js';
import { orderedMemory } from './stores.js';

lockStoreContract('an ordered store in memory', orderedMemory);

describe('an ordered store that loses every report', () => {
  it('P14: serves a waiter at its next request', async () => {
    const store = new OrderedMemory();
    store.loses = () => true;
    const [one, other] = [await PortClient.open(store), await PortClient.open(store)];
    const [holder, waiter] = [one.newOwner(), other.newOwner()];
    await one.take('key', holder);
    expect(await other.acquire('key', waiter, { wait: true })).toMatchObject({ outcome: 'queued' });
    expect(await one.release('key', holder)).toBe('released');
    expect(other.grants).toEqual([]);
    expect(await other.acquire('key', waiter, { wait: true })).toMatchObject({ outcome: 'granted' });
    await other.release('key', waiter);
    for (const client of [one, other]) await client.close();
  });
});
