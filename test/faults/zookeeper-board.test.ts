import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { sourcesOf } from '../../lib/api/lock-admin.js';
import type { LockBoard } from '../../lib/stores/port/index.js';
import { zookeeperStore } from '../../lib/stores/zookeeper/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { NodesOfLocks } from '../support/nodes-of-locks.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';

whereThereIsZooKeeper('data of processes for the lock dashboard in ZooKeeper', () => {
  let server: ZooKeeperServer;
  let nodes: NodesOfLocks;
  const endings = new Endings();
  beforeAll(async () => {
    server = await ZooKeeperServer.start();
    nodes = await NodesOfLocks.open(server.port);
  });
  afterEach(() => nodes.clear());
  afterAll(async () => {
    await nodes.close();
    await server.close();
  });

  /** A process whose session outlasts it for long, unless set otherwise. */
  const start = async (
    port = server.port,
    { shutdownTimeout = 100, sessionTimeout = 1_000_000 } = {},
  ): Promise<[LockApp, LockBoard]> => {
    const store = zookeeperStore({ hosts: `127.0.0.1:${String(port)}`, sessionTimeout });
    const app = endings.app(await LockApp.start({ store, shutdownTimeout }));
    const { board } = sourcesOf(app.admin);
    if (board === undefined) throw new Error('the session has no board');
    return [app, board];
  };
  const texts = async (): Promise<readonly string[]> =>
    (await nodes.clients()).filter((name) => name.startsWith('b-'));

  it('O20: the report of a process that is cut off expires in time, although its session lasts longer', async () => {
    const proxy = endings.until(await TcpProxy.before(server.port));
    const [, silent] = await start(proxy.port);
    const [, reader] = await start();
    await silent.publish('silent', 'from before', 300);
    expect(await reader.read()).toEqual(['from before']);
    await proxy.refuse();
    proxy.cut();
    await until('it is no longer listed', async () => (await reader.read()).length === 0);
    // Its node may exist for as long as the session.
    expect((await texts()).length).toBeLessThanOrEqual(1);
    await silent.publish('silent', 'lost', 60_000).catch(() => undefined);
    await proxy.accept();
    await until('it is published again', async () => {
      await silent.publish('silent', 'from after', 60_000).catch(() => undefined);
      return (await reader.read()).includes('from after');
    });
  });

  it('O20: when one of several dashboards closes, the others stay known', async () => {
    const [first, one] = await start();
    const [, other] = await start();
    await one.watch(60_000);
    await other.watch(60_000);
    await first.close();
    expect(await other.isWatched()).toBe(true);
  });

  it('O20: a process that leaves a lock to expire deletes its published report', async () => {
    const [leaving, board] = await start(server.port, { shutdownTimeout: 0 });
    const [, reader] = await start();
    await leaving.locks.acquire(randomUUID());
    await board.publish('leaving', 'told', 60_000);
    expect(await reader.read()).toEqual(['told']);
    await leaving.close();
    expect(await reader.read()).toEqual([]);
    expect(await texts()).toEqual([]);
  });

  it('O20: a report that is too long for ZooKeeper is rejected, and locks are unaffected', async () => {
    const [app, board] = await start();
    const before = app.admin.status().store.connections;
    await expect(board.publish('long', 'x'.repeat(1_100_000), 60_000)).rejects.toMatchObject({
      retryable: false,
      inDoubt: false,
      message: expect.stringContaining('is too long for ZooKeeper'),
    });
    await board.publish('long', 'x'.repeat(999_000), 60_000);
    expect(await board.read()).toHaveLength(1);
    expect(await app.locks.withLock(randomUUID(), () => 'value')).toBe('value');
    expect(app.admin.status().store).toMatchObject({ reachable: true, connections: before });
  });

  it('O20: checking for an open dashboard writes nothing', async () => {
    const [, board] = await start();
    const before = await nodes.clients();
    expect(await board.isWatched()).toBe(false);
    expect(await board.read()).toEqual([]);
    expect(await nodes.clients()).toEqual(before);
  });

  it('O20: a process publishes its report again when the servers have lost all data', async () => {
    const alone = endings.until(await ZooKeeperServer.start());
    const [, board] = await start(alone.port, { sessionTimeout: 2_000 });
    await board.publish('a', 'first', 60_000);
    await alone.restart(true);
    await until(
      'it is published again',
      async () => {
        await board.publish('a', 'second', 60_000).catch(() => undefined);
        return (await board.read().catch((): string[] => [])).includes('second');
      },
      { deadline: 60_000 },
    );
  });
});
