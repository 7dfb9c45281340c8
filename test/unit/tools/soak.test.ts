import { describe, expect, it } from '@jest/globals';
import { PushedEvents } from '../../soak/pushed-events.mjs';

describe('the soak: pushed events', () => {
  /** A class of the library's source; the soak itself changes a build. */
  const load = async (file: string): Promise<object> => (await import(`../../../lib/${file}`)) as object;

  it.each(['redis', 'postgres', 'etcd', 'zookeeper'])(
    'have a known receiver in a session of %s',
    async (store) => {
      await expect(PushedEvents.of(store, load)).resolves.toBeInstanceOf(PushedEvents);
    },
  );

  it('report a missing receiver by name', async () => {
    await expect(PushedEvents.of('etcd', () => Promise.resolve({}))).rejects.toThrow('Watches.receive()');
  });
});
