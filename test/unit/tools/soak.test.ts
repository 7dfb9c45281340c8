import { describe, expect, it } from '@jest/globals';
import { PushedEvents } from '../../soak/pushed-events.mjs';
import { elapse } from '../../support/until.js';

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

  it('are lost while they are dropped, and replies are not', async () => {
    class Watches {
      readonly received: string[] = [];
      receive(
        _endpoint: unknown,
        { name }: { readonly name: string; readonly events: readonly unknown[] },
      ): void {
        this.received.push(name);
      }
    }
    const events = await PushedEvents.of('etcd', () => Promise.resolve({ Watches }));
    const watches = new Watches();
    const push = (name: string, count = 1): void => {
      watches.receive(undefined, { name, events: Array.from({ length: count }) });
    };
    push('before');
    events.drop(1_000);
    push('dropped');
    push('answer', 0);
    while (watches.received.at(-1) !== 'after') {
      await elapse(20);
      push('after');
    }
    expect(watches.received).toEqual(['before', 'answer', 'after']);
    expect(events.dropped).toBeGreaterThanOrEqual(1);
  });
});
