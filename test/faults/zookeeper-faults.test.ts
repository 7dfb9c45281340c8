import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockStoreError } from '../../lib/index.js';
import { endSession } from '../../lib/stores/zookeeper/connection/operations.js';
import { ZooKeeperSocket } from '../../lib/stores/zookeeper/connection/zookeeper-socket.js';
import type { SessionIdentity } from '../../lib/stores/zookeeper/connection/zookeeper-socket.js';
import { zookeeperStore, type ZooKeeperStoreOptions } from '../../lib/stores/zookeeper/index.js';
import { PortClient } from '../contract/port-client.js';
import { LockApp } from '../support/lock-app.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { until } from '../support/until.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';
import { ZooKeeperServer } from '../support/zookeeper-server.js';

whereThereIsZooKeeper('faults of ZooKeeper', () => {
  let server: ZooKeeperServer;
  const clients: PortClient[] = [];
  const proxies: TcpProxy[] = [];
  beforeAll(async () => {
    server = await ZooKeeperServer.start();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  });
  afterAll(async () => {
    await server.close();
  });

  async function open(port: number, options: Partial<ZooKeeperStoreOptions> = {}): Promise<PortClient> {
    const hosts = `127.0.0.1:${String(port)}`;
    const client = await PortClient.open(zookeeperStore({ hosts, sessionTimeout: 60_000, ...options }));
    clients.push(client);
    return client;
  }

  async function proxied(): Promise<TcpProxy> {
    const proxy = await TcpProxy.before(server.port);
    proxies.push(proxy);
    return proxy;
  }

  const portOf = (proxy: TcpProxy): number => Number(new URL(proxy.url).port);

  /** Asks until the connection is there again. */
  const reached = <T>(ask: () => Promise<T>): Promise<T> =>
    until('it is answered', async () => {
      try {
        return { answer: await ask() };
      } catch (error) {
        if (error instanceof LockStoreError && error.retryable) return undefined;
        throw error;
      }
    }).then(({ answer }) => answer);

  const sessionOf = (client: PortClient): SessionIdentity =>
    (client as unknown as { session: { connection: { session: SessionIdentity } } }).session.connection
      .session;

  it('F10: a lock whose connection is cut is held on, with the same token and in the same session', async () => {
    const proxy = await proxied();
    const client = await open(portOf(proxy));
    const [key, owner] = [randomUUID(), client.newOwner()];
    const token = await client.take(key, owner);
    const { id } = sessionOf(client);
    proxy.cut();
    expect(await reached(() => client.renew({ key, owner, lease: 20_000 }))).toEqual(['renewed']);
    expect(await client.ask(key, owner)).toMatchObject({ outcome: 'granted', token });
    expect(sessionOf(client).id).toBe(id);
    expect(await client.release(key, owner)).toBe('released');
  });

  it('F16: a first connection that is lost before it was ready is followed by one that can be used', async () => {
    const proxy = await proxied();
    const isLost = proxy.loseReply((request) => request.includes('/clients/f-'));
    const store = zookeeperStore({ hosts: `127.0.0.1:${String(portOf(proxy))}` });
    const app = await LockApp.start({ store, shutdownTimeout: 100 });
    try {
      await isLost;
      expect(await app.locks.withLock(randomUUID(), () => 'value')).toBe('value');
    } finally {
      await app.close();
    }
  });

  it('F10: a grant whose answer was lost is found by asking again, and is one place', async () => {
    const proxy = await proxied();
    const [client, other] = [await open(portOf(proxy)), await open(server.port)];
    const [key, owner] = [randomUUID(), client.newOwner()];
    const speak = proxy.swallow('replies');
    const asked = client.ask(key, owner).catch((error: unknown) => error);
    await until('the place is there', async () => (await other.lockOf(key)) !== null);
    proxy.cut();
    speak();
    expect(await asked).toMatchObject({ inDoubt: true, unreachable: true });
    const reply = await reached(() => client.ask(key, owner));
    expect(reply).toMatchObject({ outcome: 'granted' });
    const lock = await other.lockOf(key);
    expect(lock?.holders).toMatchObject([{ owner }]);
    expect(lock?.waiters).toEqual([]);
  });

  it('P32: a cancel after an answer that was lost frees the lock, and the owner is refused', async () => {
    const proxy = await proxied();
    const [client, other] = [await open(portOf(proxy)), await open(server.port)];
    const [key, owner] = [randomUUID(), client.newOwner()];
    const speak = proxy.swallow('replies');
    const asked = client.ask(key, owner).catch((error: unknown) => error);
    await until('the place is there', async () => (await other.lockOf(key)) !== null);
    proxy.cut();
    speak();
    expect(await asked).toMatchObject({ inDoubt: true });
    await reached(() => client.cancel(key, owner, true));
    expect(await other.lockOf(key)).toBeNull();
    expect(await client.ask(key, owner)).toEqual({ outcome: 'cancelled' });
  });

  it('a session that the servers have ended has lost its locks, and the next one is served with a larger token', async () => {
    const proxy = await proxied();
    const [client, other] = [await open(portOf(proxy)), await open(server.port)];
    const [key, owner, next] = [randomUUID(), client.newOwner(), other.newOwner()];
    const token = await client.take(key, owner);
    expect(await other.ask(key, next, { wait: true })).toMatchObject({ outcome: 'queued' });
    const session = sessionOf(client);
    // It would go on with its session on another connection before that can end it.
    await proxy.refuse();
    proxy.cut();
    const thief = new ZooKeeperSocket(
      { host: '127.0.0.1', port: server.port },
      { tls: undefined, auth: undefined, requestTimeout: 5_000 },
      { event: () => undefined, heard: () => undefined, closed: () => undefined },
    );
    await thief.open(session, 60_000, 0);
    await thief.request(endSession);
    thief.cut('done');
    await proxy.accept();
    expect((await other.granted(next)).token).toBeGreaterThan(token);
    const [reply] = await reached(() => client.renew({ key, owner, lease: 20_000 }));
    expect(reply).toBe('taken');
    expect(sessionOf(client).id).not.toBe(session.id);
    expect(await client.ask(randomUUID(), client.newOwner())).toMatchObject({ outcome: 'granted' });
  });

  it('tokens grow on when the servers have lost all data', async () => {
    const alone = await ZooKeeperServer.start();
    try {
      const first = await open(alone.port);
      const key = randomUUID();
      const token = await first.take(key, first.newOwner());
      await alone.restart(true);
      const second = await open(alone.port);
      expect(await second.take(key, second.newOwner())).toBeGreaterThan(token);
      await Promise.all(clients.splice(0).map((client) => client.close()));
    } finally {
      await alone.close();
    }
  });

  it('a lease that the session could not outlive is refused with what to change', async () => {
    const client = await open(server.port, { sessionTimeout: 10_000 });
    const refused = client.ask(randomUUID(), client.newOwner(), { lease: 20_000 });
    await expect(refused).rejects.toMatchObject({ retryable: false, inDoubt: false });
    await expect(refused).rejects.toThrow(/a lease may last 6930 ms at most, not 20000 ms.*sessionTimeout/);
  });

  it('nodes of a user are its own, and who lacks the right is told so without secrets', async () => {
    const path = `/of-${randomUUID()}`;
    const client = await open(server.port, { path, auth: { user: 'shop', password: 's3cr3t' } });
    expect(await client.ask(randomUUID(), client.newOwner())).toMatchObject({ outcome: 'granted' });
    const stranger = open(server.port, { path }).catch((error: unknown) => error);
    const refusal = await stranger;
    expect(refusal).toMatchObject({ unreachable: false, message: expect.stringMatching(/no auth.*`auth`/) });
    expect(String(refusal)).not.toContain('s3cr3t');
  });
});
