import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { DistributedLockModule } from '../../../lib/index.js';
import { CommandMonitor, type MonitoredCommand } from '../../support/command-monitor.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { until } from '../../support/until.js';
import { HttpApps } from './http-app.js';

describe("the user's own client", () => {
  const apps = new HttpApps();
  const scene = new RedisScene();
  let client: Redis;
  // Disconnecting an ended client sets a timer of ioredis that is never cleared.
  afterEach(() => {
    if (client.status !== 'end') client.disconnect();
  });

  const clientIds = async (): Promise<string[]> => {
    const list = (await scene.client.client('LIST')) as string;
    return [...list.matchAll(/^id=(\d+)/gm)].map(([, id]) => id ?? '');
  };
  const start = (redis: Redis, keyPrefix?: string) =>
    apps.start({ imports: [DistributedLockModule.forRoot({ redis, keyPrefix })] });

  it('B4: is not reconfigured, gets no listeners, no commands and no traffic, and outlives the application', async () => {
    client = new Redis(scene.server.port, scene.server.host, { connectionName: 'mine', db: 1 });
    await client.set('mine', 'before');
    const ownId = String(await client.client('ID'));
    const address = `${client.stream.localAddress}:${client.stream.localPort}`;
    const look = () => ({
      options: { ...client.options },
      names: Object.getOwnPropertyNames(client).sort(),
      prototype: Object.getOwnPropertyNames(Object.getPrototypeOf(client)).sort(),
      listeners: client.eventNames().map((name) => [String(name), client.listenerCount(name)]),
      status: client.status,
    });
    const before = look();
    const monitored: MonitoredCommand[] = [];
    const monitor = await CommandMonitor.of(scene.server, (command) => monitored.push(command));

    const others = await clientIds();

    const app = await start(client);
    const holder = await app.locks.acquire('k');
    const queued = app.next('queued', 'k');
    const waiting = app.locks.acquire('k');
    await queued;
    await holder.release();
    await (await waiting).release();
    expect(await app.locks.isLocked('k')).toBe(false);
    expect(look()).toEqual(before);
    await app.close();

    await scene.client.echo('the end of it');
    await until('the monitor has seen all commands', () =>
      monitored.some(({ args }) => args[1] === 'the end of it'),
    );
    expect(monitored.filter(({ source }) => source === address)).toEqual([]);
    expect(monitored.filter(({ args }) => /^evalsha$/i.test(args[0] ?? ''))).not.toEqual([]);
    expect(look()).toEqual(before);
    await until('only the earlier connections are left', async () => {
      const now = await clientIds();
      return now.filter((id) => !others.includes(id)).length === 0;
    });
    expect(String(await client.client('ID'))).toBe(ownId);
    expect(await client.get('mine')).toBe('before');
    monitor.close();
  });

  it('B4: the duplicates keep its database and its own keyPrefix', async () => {
    client = new Redis(scene.server.port, scene.server.host, { keyPrefix: 'app:', db: 2 });
    const app = await start(client, 'locks:');
    const handle = await app.locks.acquire('k');
    const inDatabase = scene.server.client();
    await inDatabase.select(2);
    expect(await inDatabase.type('app:locks:k')).toBe('hash');
    expect(await client.exists('locks:k')).toBe(1);
    expect((await inDatabase.keys('*')).filter((name) => !name.startsWith('app:locks:'))).toEqual([]);
    expect(await scene.client.keys('*')).toEqual([]);
    await handle.release();
    expect(await inDatabase.exists('app:locks:k')).toBe(0);
  });

  it('B4: may be lazy, and is then left unconnected', async () => {
    client = new Redis(scene.server.port, scene.server.host, { lazyConnect: true });
    const app = await start(client);
    expect(await app.locks.withLock('k', () => 'done')).toBe('done');
    expect(client.status).toBe('wait');
    await app.close();
    expect(await client.ping()).toBe('PONG');
  });

  it('B4: may be closed by the user without harm to the locks', async () => {
    client = new Redis(scene.server.port, scene.server.host);
    const app = await start(client);
    await client.quit();
    expect(await app.locks.withLock('k', () => 'done')).toBe('done');
  });
});
