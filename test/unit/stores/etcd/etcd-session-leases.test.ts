import { describe, expect, it } from '@jest/globals';
import type { MonotonicMs } from '../../../../lib/stores/port/index.js';
import { TimerQueue } from '../../../../lib/common/timer-queue.js';
import type { Endpoint } from '../../../../lib/stores/etcd/connection/endpoint.js';
import type { EtcdConnection } from '../../../../lib/stores/etcd/connection/etcd-connection.js';
import { SessionLeases, lifetimeFor } from '../../../../lib/stores/etcd/session-leases.js';
import { methods } from '../../../../lib/stores/etcd/connection/protocol.js';
import { stateOf } from '../../../support/until.js';

/** The leases of a session whose clock and replies the test controls; its regular keep-alives take real time. */
function scene(watchdogTimeout: number) {
  let now = 0;
  const asked = new Set<number>();
  const granted: number[] = [];
  let receive: (reply: { id: number; ttl: number }) => void = () => undefined;
  const call = (method: unknown, { id, ttl }: { id: number; ttl: number }): Promise<unknown> => {
    if (method === methods.leaseGrant) granted.push(ttl);
    return Promise.resolve({ id, ttl });
  };
  const clock = { monotonic: () => now as MonotonicMs };
  const client = { now: clock.monotonic, warn: () => undefined, watchdogTimeout };
  const connection = { call, trouble: undefined } as unknown as EtcdConnection;
  const timers = new TimerQueue(clock, false);
  const leases = new SessionLeases(connection, timers, client, 1_000, () => undefined);
  const endpoint = {
    stream: (_: unknown, onMessage: typeof receive) => {
      receive = onMessage;
      return { send: (id: number) => asked.add(id), end: () => undefined };
    },
  } as unknown as Endpoint;
  return {
    leases,
    connect: () => {
      leases.connected(endpoint);
    },
    answer: (ttl = granted[0] ?? 0) => {
      receive({ id: [...asked].at(-1) ?? 0, ttl });
    },
    pass: (ms: number) => {
      now += ms;
    },
    asked,
    granted,
  };
}

describe('leases of a session of etcd', () => {
  it('B20: last for the watchdog timeout, and end in time after a crash', () => {
    for (let watchdogTimeout = 300; watchdogTimeout < 100_000; watchdogTimeout += 50) {
      const lifetime = lifetimeFor(watchdogTimeout) * 1_000;
      expect(lifetime).toBeGreaterThanOrEqual(watchdogTimeout);
      // etcd ends a lease up to half a second late.
      expect(lifetime + 500).toBeLessThan(
        Math.max(3_000, Math.ceil((1.5 * watchdogTimeout) / 1_000) * 1_000),
      );
    }
    expect([2_000, 4_000, 30_000].map(lifetimeFor)).toEqual([2, 5, 35]);
  });

  it('B22: serve a hold only once etcd has confirmed that they outlast its deadline', async () => {
    const { leases, connect, answer, pass, asked, granted } = scene(4_000);
    connect();
    const id = await leases.for(4_000);
    expect(leases.at(4_000)).toBe(id);
    pass(1_100);
    expect(leases.at(4_000)).toBeUndefined();
    const again = leases.for(4_000);
    expect(await stateOf(again)).toBe('pending');
    expect([...asked]).toEqual([id]);
    answer();
    expect(await again).toBe(id);
    expect(granted).toEqual([5]);
  });

  it('B22: are replaced when etcd reports that one has ended', async () => {
    const { leases, connect, answer, pass, granted } = scene(4_000);
    connect();
    const id = await leases.for(4_000);
    pass(4_000);
    const next = leases.for(4_000);
    answer(0);
    expect(await next).not.toBe(id);
    expect(leases.has(id)).toBe(false);
    expect(granted).toEqual([5, 5]);
  });

  it('P32: are kept on the next connection, whose fence rejects late writes of the last one', async () => {
    const { leases, connect, answer, granted } = scene(4_000);
    connect();
    const first = await leases.for(4_000);
    connect();
    answer();
    expect(await leases.for(4_000)).toBe(first);
    expect(granted).toEqual([5]);
  });

  it('B60: serve a longer leaseTime with longer leases', async () => {
    const { leases, connect, granted } = scene(4_000);
    connect();
    await leases.for(600_000);
    expect(granted[0]).toBeGreaterThanOrEqual(720);
    expect(granted[0]).toBeLessThan(900);
  });
});
