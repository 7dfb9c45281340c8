import { describe, expect, it } from '@jest/globals';
import { resolveEtcdOptions } from '../../../../lib/stores/etcd/connection/etcd-options.js';
import { methods, type Transaction } from '../../../../lib/stores/etcd/connection/protocol.js';
import { EtcdDriver } from '../../../../lib/stores/etcd/etcd-driver.js';
import type { EntryData } from '../../../../lib/stores/ordered/entry-data.js';
import type { DriverEvents } from '../../../../lib/stores/ordered/ordered-driver.js';
import type { MonotonicMs } from '../../../../lib/stores/port/lock-store.js';

/** A driver whose requests get what `reply` returns. */
function driverWith(reply: (request: Transaction) => Promise<unknown>): EtcdDriver {
  const client = { id: 'mine', watchdogTimeout: 30_000, now: () => 0 as MonotonicMs };
  const driver = new EtcdDriver(resolveEtcdOptions({ hosts: '127.0.0.1:1' }), {
    client,
  } as unknown as DriverEvents);
  const call = (method: unknown, request: Transaction): Promise<unknown> =>
    method === methods.leaseGrant ? Promise.resolve({ id: 1, ttl: 35 }) : reply(request);
  const { connection } = driver as unknown as { connection: object };
  Object.defineProperties(connection, { call: { value: call }, trouble: { value: undefined } });
  return driver;
}

const endOfTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a renewal in etcd', () => {
  it('B22: asks the majority without a write, which etcd does only for a transaction with a range', async () => {
    const sent: Transaction[] = [];
    const driver = driverWith((request) => {
      sent.push(request);
      return Promise.resolve({ revision: 1, reply: { do: 'txn', succeeded: true, replies: [] } });
    });
    const path = 'distributed-lock/l/key/x/mine:1/1';
    expect(await driver.write({ key: 'key', path, data: undefined })).toBeDefined();
    expect(sent).toMatchObject([{ if: [{ key: path, exists: true }], then: [{ do: 'range' }] }]);
    expect(sent[0]?.then[0]).not.toHaveProperty('serializable', true);
  });

  it('F69: is not behind the waiters of other keys, however many', async () => {
    const sent: Transaction[] = [];
    const isFence = ({ then }: Transaction): boolean =>
      then.some((call) => call.do === 'put' && call.value === '');
    const driver = driverWith((request) => {
      if (isFence(request)) return Promise.resolve({ revision: 1 });
      sent.push(request);
      // etcd stands still.
      return new Promise(() => undefined);
    });
    const write = (key: string, state: EntryData['state']): void => {
      const data = { state, lease: 1, isKept: true, claim: 1, callers: 1, label: undefined };
      const path = `distributed-lock/l/${key}/x/mine:1/1`;
      driver.write({ key, path, data }).catch(() => undefined);
    };
    for (let count = 0; count < 2_000; count++) write(`waits-${String(count)}`, 'waits');
    await endOfTick();
    expect(sent.length).toBeGreaterThan(1);
    expect(JSON.stringify(sent).includes('waits-1999')).toBe(false);
    write('held', 'holds');
    await endOfTick();
    expect(JSON.stringify(sent.at(-1)).includes('/held/')).toBe(true);
  });
});
