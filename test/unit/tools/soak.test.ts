import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { LateProxy } from '../../soak/late-proxy.mjs';
import { readOptions } from '../../soak/options.mjs';
import { PushedEvents } from '../../soak/pushed-events.mjs';
import { Members, type Member } from '../../soak/servers/members.mjs';
import { elapse } from '../../support/until.js';

describe('the soak: selected faults', () => {
  it('are all faults without --only, and the named ones with it', () => {
    expect(readOptions([]).only).toBeUndefined();
    const names = ['member killed, emptied and started again', 'watch events dropped'];
    const options = readOptions(['--store', 'etcd', ...names.flatMap((name) => ['--only', name])]);
    expect(options).toMatchObject({ only: names, faults: true });
  });

  it.each([['--no-faults'], ['--plant', 'all'], ['--cycles']])('can’t be combined with %s', (...others) => {
    expect(() => readOptions(['--only', 'process killed', ...others])).toThrow('--only says which faults');
  });
});

describe('the soak: leader election', () => {
  it('has planted bugs of its own, with any store', () => {
    const options = readOptions(['--leader', '--store', 'etcd', '--plant', 'deadline-ignored']);
    expect(options).toMatchObject({ leader: true, store: 'etcd', plant: 'deadline-ignored' });
    expect(() => readOptions(['--leader', '--plant', 'no-poll'])).toThrow(
      'or all with --leader; got "no-poll"',
    );
  });

  it.each(['--steady', '--cycles', '--no-faults', '--keys=2', '--callers=2'])(
    'can’t be combined with %s',
    (other) => {
      expect(() => readOptions(['--leader', other])).toThrow('--leader has faults and one lock');
    },
  );
});

describe('the soak: outages of a cluster', () => {
  const members = ['one', 'two', 'three'].map((name): Member => ({ name }));

  /** The first member leads. */
  class Cluster extends Members {
    constructor(private readonly serving: readonly string[]) {
      super();
      this.members = members;
    }

    leader(): Promise<Member | undefined> {
      return Promise.resolve(members[0]);
    }

    served(): Promise<void> {
      return Promise.resolve();
    }

    areServing(asked: readonly Member[]): Promise<boolean> {
      return Promise.resolve(asked.every(({ name }) => this.serving.includes(name)));
    }
  }

  const all = ['one', 'two', 'three'];

  it.each([
    { failed: ['two'], serving: all, isOutage: false },
    { failed: ['one'], serving: all, isOutage: true },
    { failed: ['two', 'three'], serving: all, isOutage: true },
    { failed: ['two'], serving: ['one', 'two'], isOutage: true },
  ])('$failed of $serving fail: $isOutage', async ({ failed, serving, isOutage }) => {
    const recorded: string[] = [];
    const ones = members.filter(({ name }) => failed.includes(name));
    const untilServed = await new Cluster(serving).outageWithout(ones, ({ e }) => recorded.push(e));
    untilServed();
    await elapse(0);
    expect(recorded).toEqual(isOutage ? ['away'] : []);
  });
});

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

describe('the soak: a proxy', () => {
  const ends: (() => unknown)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** Sends its name to every client. */
  const listening = async (name: string): Promise<number> => {
    const server: Server = createServer((socket) => socket.end(name)).listen(0, '127.0.0.1');
    ends.push(() => server.close());
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };

  it('forwards new connections to the current port of the server', async () => {
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
