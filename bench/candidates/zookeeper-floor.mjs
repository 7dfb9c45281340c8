import { create, NODE, remove } from '../../build/cjs/stores/zookeeper/connection/protocol.js';
import { ZooKeeperConnection } from '../../build/cjs/stores/zookeeper/connection/zookeeper-connection.js';
import { version } from './ours.mjs';

/** The minimum for ZooKeeper: one request creates a node if it is absent, another deletes it. Both are awaited. */
export const name = 'floor: create + delete';
export const kind = 'floor';
export const settings = { readme: {} };

const ACL = { permissions: 31, scheme: 'world', id: 'anyone' };

export async function open(url) {
  const [host, port] = url.split(':');
  const connection = new ZooKeeperConnection(
    [{ host, port: Number(port) }],
    { tls: undefined, auth: undefined, requestTimeout: 10_000 },
    () => 40_000,
    { prepare: async () => undefined, back: () => undefined, lost: () => undefined, event: () => undefined },
  );
  await connection.open();
  const owner = Buffer.from('owner');
  return {
    version: `its own client ${version}`,
    async withLock(key, fn) {
      const path = `/floor-${key}`;
      await connection.request(create(path, owner, ACL, NODE.ephemeral));
      try {
        return await fn();
      } finally {
        await connection.request(remove(path));
      }
    },
    close: () => connection.close(true),
  };
}
