import { Endpoint, channelCredentials } from '../../build/cjs/stores/etcd/connection/endpoint.js';
import { methods, MessageWriter, fieldsOf } from '../../build/cjs/stores/etcd/connection/protocol.js';
import { installedVersion } from './installed-version.mjs';

/** The lock service of etcd itself. It has no inspectable queue, no fencing token and no wait time-out. */
export const name = 'v3lockpb';
export const kind = 'peer';
export const settings = { readme: { ttl: 60 } };
export const labels = { readme: `${name}, a lease for each caller` };

const lock = {
  path: '/v3lockpb.Lock/Lock',
  encode: ({ key, lease }) => new MessageWriter().string(1, key).int(2, lease).finish(),
  decode(message) {
    for (const { number, bytes } of fieldsOf(message)) if (number === 2) return bytes.toString();
    throw new Error('no key');
  },
};
const unlock = {
  path: '/v3lockpb.Lock/Unlock',
  encode: (key) => new MessageWriter().string(1, key).finish(),
  decode: () => undefined,
};

export async function open(url, { ttl }) {
  // The request time-out must exceed the longest wait, since the server replies only when it grants the lock.
  const endpoint = new Endpoint(url, channelCredentials(undefined), undefined, 120_000);
  await endpoint.open(10_000);
  const free = [];
  const all = [];
  const alive = endpoint.stream(methods.leaseKeepAlive, () => undefined);
  const timer = setInterval(() => all.forEach((lease) => alive.send(lease)), (ttl * 1_000) / 3);
  /** Each caller needs its own lease: callers with the same lease would hold the lock together. */
  const leaseOf = async () => {
    const known = free.pop();
    if (known !== undefined) return known;
    const lease = 1 + Math.floor(Math.random() * 2 ** 50);
    await endpoint.call(methods.leaseGrant, { id: lease, ttl });
    all.push(lease);
    return lease;
  };
  return {
    version: `@grpc/grpc-js ${installedVersion('@grpc/grpc-js')}`,
    async withLock(key, fn) {
      const lease = await leaseOf();
      const name = await endpoint.call(lock, { key: `v3lock/${key}`, lease });
      try {
        return await fn();
      } finally {
        await endpoint.call(unlock, name);
        free.push(lease);
      }
    },
    close() {
      clearInterval(timer);
      endpoint.cut(new Error('closed'));
      return Promise.resolve();
    },
  };
}
