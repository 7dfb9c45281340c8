import { describe, expect, it } from '@jest/globals';
import { LockStoreError } from '../../../../lib/stores/port/lock-store.js';
import { JuteWriter, type Operation } from '../../../../lib/stores/zookeeper/connection/protocol.js';
import { CODE, ZooKeeperError } from '../../../../lib/stores/zookeeper/connection/zookeeper-failure.js';
import type { Request } from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { ClientNodes } from '../../../../lib/stores/zookeeper/client-nodes.js';
import { LockPaths } from '../../../../lib/stores/zookeeper/layout.js';
import { rejectionOf } from '../../../support/until.js';

const TYPE = { getData: 4, setData: 5, create: 15 };
const acl = { permissions: 31, scheme: 'world', id: 'anyone' };

/** A ZooKeeper with only the node of the token base. */
class OnlyBase {
  base: string | undefined;

  readonly request = ((operation: Operation<unknown>) => {
    const to = new JuteWriter();
    operation.write(to);
    const words = to.frame().toString('latin1');
    const isBase = words.includes('/base');
    if (words.includes('/format')) return Promise.reject(new ZooKeeperError(CODE.noNode));
    if (operation.type === TYPE.setData && isBase) this.base = /\d{10,}/.exec(words)?.[0];
    if (operation.type === TYPE.create && isBase) this.base ??= /\d{10,}/.exec(words)?.[0];
    if (operation.type === TYPE.getData && isBase && this.base === undefined) {
      return Promise.reject(new ZooKeeperError(CODE.noNode));
    }
    return Promise.resolve({
      data: Buffer.from(this.base ?? ''),
      stat: { version: 0, mzxid: 1 },
      version: 0,
    });
  }) as Request;
}

const session = (id: string) => ({ id, password: Buffer.alloc(16), timeout: 40_000 });

describe('tokens of ZooKeeper', () => {
  it('grow for a client that has seen larger ones, when servers after many elections have lost their data', async () => {
    const nodes = new ClientNodes(new LockPaths('/l'), 'client', acl, () => undefined);
    const servers = new OnlyBase();
    await nodes.prepare(servers.request, session('1'));
    expect(Number(servers.base)).toBeGreaterThan(Date.now() * 1_000 - 60_000_000);
    const last = nodes.tokens.tokenOf(100 * 2 ** 32 + 7);
    servers.base = undefined;
    await nodes.prepare(servers.request, session('2'));
    // Each transaction has 128 tokens.
    expect(nodes.tokens.tokenOf(0)).toBeGreaterThanOrEqual(last + 128);
  });

  it('F53: are raised for all clients when an older state was restored', async () => {
    const [seeing, other] = [1, 2].map(
      (id) => new ClientNodes(new LockPaths('/l'), String(id), acl, () => undefined),
    );
    const servers = new OnlyBase();
    await seeing?.prepare(servers.request, session('1'));
    const last = seeing?.tokens.tokenOf(3 * 2 ** 32) ?? NaN;
    await expect(seeing?.prepare(servers.request, session('2'))).rejects.toThrow('raised');
    await seeing?.prepare(servers.request, session('2'));
    await other?.prepare(servers.request, session('3'));
    for (const nodes of [seeing, other]) expect(nodes?.tokens.tokenOf(2)).toBeGreaterThanOrEqual(last + 128);
  });

  it('B16: are whole numbers, or an error', async () => {
    const nodes = new ClientNodes(new LockPaths('/l'), 'client', acl, () => undefined);
    await nodes.prepare(new OnlyBase().request, session('1'));
    for (const zxid of [NaN, 2 ** 46]) expect(() => nodes.tokens.tokenOf(zxid)).toThrow(LockStoreError);
    expect(nodes.tokens.tokenOf(1)).toBeGreaterThan(0);
  });

  it.each(['', 'what', '1e3', '-5', '99999999999999999'])(
    'are not derived from an invalid base: %j',
    async (base) => {
      const nodes = new ClientNodes(new LockPaths('/l'), 'client', acl, () => undefined);
      const servers = new OnlyBase();
      servers.base = base;
      const error = await rejectionOf(nodes.prepare(servers.request, session('1')));
      expect(error).toBeInstanceOf(LockStoreError);
      expect((error as Error).message).toMatch(/^\/l\/base .*Write a number there/);
    },
  );
});
