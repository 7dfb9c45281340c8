import { describe, expect, it } from '@jest/globals';
import { PushedEvents } from '../../soak/pushed-events.mjs';

describe('the soak: pushed events', () => {
  it.each(['redis', 'postgres', 'etcd', 'zookeeper'])('have a known receiver in %s', async (store) => {
    const events = PushedEvents.of(store, (file) => import(`../../../lib/${file}`));
    await expect(events).resolves.toBeInstanceOf(PushedEvents);
  });

  it('report a missing receiver by name', async () => {
    await expect(PushedEvents.of('etcd', () => Promise.resolve({}))).rejects.toThrow('Watches.receive()');
  });
});
