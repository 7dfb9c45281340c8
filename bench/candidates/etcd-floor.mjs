import { randomUUID } from 'node:crypto';
import { Endpoint, channelCredentials } from '../../build/cjs/stores/etcd/connection/endpoint.js';
import { methods } from '../../build/cjs/stores/etcd/connection/protocol.js';
import { installedVersion } from './installed-version.mjs';

/** The minimum for etcd: one transaction puts a key if it is absent, another deletes it. Both are awaited. */
export const name = 'floor: put if absent + delete';
export const kind = 'floor';
export const settings = { readme: { ttl: 60 } };

export async function open(url, { ttl }) {
  const endpoint = new Endpoint(url, channelCredentials(undefined), undefined, 10_000);
  await endpoint.open(10_000);
  const owner = randomUUID();
  const lease = 1 + Math.floor(Math.random() * 2 ** 50);
  await endpoint.call(methods.leaseGrant, { id: lease, ttl });
  const alive = endpoint.stream(methods.leaseKeepAlive, () => undefined);
  const timer = setInterval(() => alive.send(lease), (ttl * 1_000) / 3);
  let holds = 0;
  return {
    version: `@grpc/grpc-js ${installedVersion('@grpc/grpc-js')}`,
    async withLock(key, fn) {
      const name = `floor/${key}`;
      const value = `${owner}:${++holds}`;
      const put = { do: 'put', key: name, value, lease };
      const acquire = { do: 'txn', if: [{ key: name, exists: false }], then: [put], else: [] };
      const { reply } = await endpoint.call(methods.transaction, acquire);
      if (!reply.succeeded) throw new Error(`${key} is held`);
      try {
        return await fn();
      } finally {
        const release = {
          do: 'txn',
          if: [{ key: name, value }],
          then: [{ do: 'delete', key: name }],
          else: [],
        };
        await endpoint.call(methods.transaction, release);
      }
    },
    close() {
      clearInterval(timer);
      endpoint.cut(new Error('closed'));
      return Promise.resolve();
    },
  };
}
