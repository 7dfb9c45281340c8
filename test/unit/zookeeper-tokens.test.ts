import { describe, expect, it } from '@jest/globals';
import { ClientNodes } from '../../lib/stores/zookeeper/connection/client-nodes.js';
import { JuteWriter } from '../../lib/stores/zookeeper/connection/jute.js';
import type { Operation } from '../../lib/stores/zookeeper/connection/operations.js';
import type { Request } from '../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { CODE, ZooKeeperError } from '../../lib/stores/zookeeper/connection/zookeeper-error.js';
import { LockPaths } from '../../lib/stores/zookeeper/locks/lock-paths.js';

const TYPE = { getData: 4, create: 15 };

/** A ZooKeeper that knows nothing but what tokens are counted from. */
class OnlyBase {
  base: string | undefined;

  readonly request = ((operation: Operation<unknown>) => {
    const to = new JuteWriter();
    operation.write(to);
    const words = to.frame().toString('latin1');
    const isBase = words.includes('/base');
    if (operation.type === TYPE.create && isBase) this.base ??= /\d{10,}/.exec(words)?.[0];
    if (operation.type === TYPE.getData && isBase && this.base === undefined) {
      return Promise.reject(new ZooKeeperError(CODE.noNode));
    }
    return Promise.resolve({ data: Buffer.from(this.base ?? ''), stat: { version: 0 }, version: 0 });
  }) as Request;
}

const session = (id: string) => ({ id, password: Buffer.alloc(16), timeout: 40_000 });

describe('tokens of ZooKeeper', () => {
  it('grow on for a client that has seen some, when the data is lost of servers that have elected often', async () => {
    const acl = { permissions: 31, scheme: 'world', id: 'anyone' };
    const nodes = new ClientNodes(new LockPaths('/l'), 'client', acl);
    const servers = new OnlyBase();
    await nodes.prepare(servers.request, session('1'));
    expect(Number(servers.base)).toBeGreaterThan(Date.now() * 1_000 - 60_000_000);
    const last = nodes.tokens.of(100 * 2 ** 32 + 7);
    servers.base = undefined;
    await nodes.prepare(servers.request, session('2'));
    // Each transaction has 128.
    expect(nodes.tokens.of(0)).toBeGreaterThanOrEqual(last + 128);
  });
});
