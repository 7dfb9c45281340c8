import {
  create,
  EVERYTHING,
  getChildren,
  NODE,
  remove,
  setData,
} from '../../lib/stores/zookeeper/connection/protocol.js';
import { CODE, hasCode } from '../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import { ZooKeeperConnection } from '../../lib/stores/zookeeper/connection/zookeeper-connection.js';

const ROOT = '/distributed-locks/locks';
const NOT_EMPTY = -111;
const CLIENTS = '/distributed-locks/clients';

/** The library's nodes in ZooKeeper, as another client sees them. */
export class NodesOfLocks {
  private constructor(private readonly connection: ZooKeeperConnection) {}

  static async open(port: number): Promise<NodesOfLocks> {
    const connection = new ZooKeeperConnection(
      [{ host: '127.0.0.1', port }],
      { tls: undefined, auth: undefined, requestTimeout: 5_000 },
      undefined,
      () => 60_000,
      {
        prepare: () => Promise.resolve(),
        back: () => undefined,
        lost: () => undefined,
        event: () => undefined,
      },
    );
    await connection.open();
    return new NodesOfLocks(connection);
  }

  /** The entries of holders and waiters in all locks. */
  async entries(): Promise<readonly string[]> {
    const locks = await this.namesIn(ROOT);
    const entries = await Promise.all(
      locks.map(async (lock) => (await this.namesIn(`${ROOT}/${lock}`)).map((name) => `${lock}/${name}`)),
    );
    return entries.flat();
  }

  /** The nodes of clients, which last as long as their sessions. */
  clients(): Promise<readonly string[]> {
    return this.namesIn(CLIENTS);
  }

  /** Ephemeral nodes are deleted with their session. */
  async clear(): Promise<void> {
    await this.connection.request(remove(`${CLIENTS}/watched`)).catch(() => undefined);
    for (const entry of await this.entries()) {
      await this.connection.request(remove(`${ROOT}/${entry}`)).catch(() => undefined);
    }
    for (const lock of await this.namesIn(ROOT)) {
      await this.connection.request(remove(`${ROOT}/${lock}`)).catch(() => undefined);
    }
  }

  /** Like `deleteall` of ZooKeeper's command line: nodes that others create meanwhile stay. */
  async deleteAll(path: string): Promise<void> {
    for (const name of await this.namesIn(path)) await this.deleteAll(`${path}/${name}`);
    await this.connection.request(remove(path)).catch((error: unknown) => {
      if (!hasCode(error, CODE.noNode, NOT_EMPTY)) throw error;
    });
  }

  /** Writes a node that another client has created. */
  async write(path: string, text: string): Promise<void> {
    await this.connection.request(setData(path, Buffer.from(text)));
  }

  /** Creates a node with open access. */
  async create(path: string, permissions = EVERYTHING, text = ''): Promise<void> {
    const acl = { permissions, scheme: 'world', id: 'anyone' };
    await this.connection.request(create(path, Buffer.from(text), acl, NODE.persistent));
  }

  async roundTrip(): Promise<void> {
    await this.namesIn(ROOT);
  }

  close(): Promise<void> {
    return this.connection.close(true);
  }

  async namesIn(path: string): Promise<readonly string[]> {
    try {
      return (await this.connection.request(getChildren(path, false))).names;
    } catch (error) {
      if (hasCode(error, CODE.noNode)) return [];
      throw error;
    }
  }
}
