import { describe, expect, it } from '@jest/globals';
import { resolveEtcdOptions } from '../../../../lib/stores/etcd/connection/etcd-options.js';
import { methods, type Transaction } from '../../../../lib/stores/etcd/connection/protocol.js';
import { EtcdDriver } from '../../../../lib/stores/etcd/etcd-driver.js';
import type { DriverEvents } from '../../../../lib/stores/ordered/ordered-driver.js';
import type { MonotonicMs } from '../../../../lib/stores/port/lock-store.js';

describe('a renewal in etcd without a write', () => {
  it('B22: asks the majority, which etcd does only for a transaction with a range', async () => {
    const client = { id: 'mine', watchdogTimeout: 30_000, now: () => 0 as MonotonicMs };
    const driver = new EtcdDriver(resolveEtcdOptions({ hosts: '127.0.0.1:1' }), {
      client,
    } as unknown as DriverEvents);
    const sent: Transaction[] = [];
    const call = (method: unknown, request: Transaction): Promise<unknown> => {
      if (method === methods.leaseGrant) return Promise.resolve({ id: 1, ttl: 35 });
      sent.push(request);
      return Promise.resolve({ revision: 1, reply: { do: 'txn', succeeded: true, replies: [] } });
    };
    const { connection } = driver as unknown as { connection: object };
    Object.defineProperties(connection, { call: { value: call }, trouble: { value: undefined } });
    const path = 'distributed-lock/l/key/x/mine:1/1';
    expect(await driver.write({ key: 'key', path, data: undefined })).toBeDefined();
    expect(sent).toMatchObject([{ if: [{ key: path, exists: true }], then: [{ do: 'range' }] }]);
    expect(sent[0]?.then[0]).not.toHaveProperty('serializable', true);
  });
});
