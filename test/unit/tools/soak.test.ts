import { describe, expect, it } from '@jest/globals';
import { PushedEvents } from '../../soak/pushed-events.mjs';
import { storeNames } from '../../soak/servers/servers.mjs';

describe('the soak: pushed events', () => {
  it.each(storeNames())('have a known receiver in %s', async (store) => {
    const events = PushedEvents.of(store, (file) => import(`../../../lib/${file}`));
    await expect(events).resolves.toBeInstanceOf(PushedEvents);
  });

  it('report a missing receiver by name', async () => {
    await expect(PushedEvents.of('etcd', () => Promise.resolve({}))).rejects.toThrow('Watches.receive()');
  });
});
