import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { LateProxy } from '../soak/late-proxy.mjs';
import { readOptions } from '../soak/options.mjs';
import { PushedEvents } from '../soak/pushed-events.mjs';
import { elapse } from '../support/until.js';

describe('the soak: faults that are chosen', () => {
  it('are all without --only, and those that are named with it', () => {
    expect(readOptions([]).only).toBeUndefined();
    const names = ['member killed, emptied and started again', 'watch events dropped'];
    const options = readOptions(['--store', 'etcd', ...names.flatMap((name) => ['--only', name])]);
    expect(options).toMatchObject({ only: names, faults: true });
  });

  it.each([['--no-faults'], ['--plant', 'all'], ['--cycles']])('can’t be chosen with %s', (...others) => {
    expect(() => readOptions(['--only', 'process killed', ...others])).toThrow('--only says which faults');
  });
});

describe('the soak: what servers push', () => {
  /** A class of the library as it is; the soak changes that of a build. */
  const load = async (file: string): Promise<object> => (await import(`../../lib/${file}`)) as object;

  it.each(['redis', 'postgres', 'etcd', 'zookeeper'])(
    'is found where a session of %s hears of it',
    async (store) => {
      await expect(PushedEvents.of(store, load)).resolves.toBeInstanceOf(PushedEvents);
    },
  );

  it('is named when a session does not hear of it there any more', async () => {
    await expect(PushedEvents.of('etcd', () => Promise.resolve({}))).rejects.toThrow('Watches.receive()');
  });

  it('is lost for good for as long as it is dropped, and answers are not', async () => {
    class Watches {
      readonly heard: string[] = [];
      receive(
        _endpoint: unknown,
        { name }: { readonly name: string; readonly events: readonly unknown[] },
      ): void {
        this.heard.push(name);
      }
    }
    const events = await PushedEvents.of('etcd', () => Promise.resolve({ Watches }));
    const watches = new Watches();
    const tell = (name: string, count = 1): void => {
      watches.receive(undefined, { name, events: Array.from({ length: count }) });
    };
    tell('before');
    events.drop(1_000);
    tell('dropped');
    tell('answer', 0);
    while (watches.heard.at(-1) !== 'after') {
      await elapse(20);
      tell('after');
    }
    expect(watches.heard).toEqual(['before', 'answer', 'after']);
    expect(events.dropped).toBeGreaterThanOrEqual(1);
  });
});

describe('the soak: a proxy', () => {
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** Tells everybody its name. */
  const listening = async (name: string): Promise<number> => {
    const server: Server = createServer((socket) => socket.end(name)).listen(0, '127.0.0.1');
    ends.push(() => server.close());
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };

  it('leads new connections to where the server is by then', async () => {
    const [first, second] = [await listening('first'), await listening('second')];
    let port = first;
    const proxy = new LateProxy(() => port);
    await proxy.open();
    ends.push(() => {
      proxy.close();
    });
    const asked = (): Promise<string> => text(connect(proxy.port, '127.0.0.1'));
    expect(await asked()).toBe('first');
    port = second;
    expect(await asked()).toBe('second');
  });
});
