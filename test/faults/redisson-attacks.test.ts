import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { once } from 'node:events';
import { connect } from 'node:net';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { storeFailure } from '../../lib/stores/port/store-failure.js';
import type { AcquireRequest, OwnerId } from '../../lib/stores/port/index.js';
import { redissonStore } from '../../lib/stores/redisson/index.js';
import type { RedissonSession } from '../../lib/stores/redisson/redisson-session.js';
import { PortClient } from '../contract/port-client.js';
import { idleClient } from '../support/idle-client.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { RedisCluster } from '../support/redis-cluster.js';
import type { TcpProxy } from '../support/tcp-proxy.js';
import { rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';
import { TopologyScene } from './topology-scene.js';

const channelOf = (key: string): string => `redisson_lock__channel:{${key}}`;
const waiting = { wait: true };

/** Private members of the session. */
interface Inside {
  readonly turns: ReadonlyMap<OwnerId, unknown>;
  onMessage(channel: string, text: string): void;
}

describe("Redisson's locks under attack", () => {
  const scene = new RedisScene();

  const client = async (url = scene.url): Promise<PortClient> => {
    const opened = await PortClient.open(redissonStore({ redis: url }));
    scene.until({ kill: () => opened.close() });
    return opened;
  };

  /** A session whose messages and requests the test interleaves within one tick. */
  async function rawSession(): Promise<{
    readonly session: RedissonSession;
    readonly inside: Inside;
    readonly granted: readonly OwnerId[];
  }> {
    const granted: OwnerId[] = [];
    const port = { ...idleClient, id: 'raw', granted: (owner: OwnerId) => void granted.push(owner) };
    const session = redissonStore({ redis: scene.url }).open(port) as RedissonSession;
    scene.until({ kill: () => session.close() });
    await session.start();
    return { session, inside: session as unknown as Inside, granted };
  }

  const request = (key: string, owner: OwnerId): AcquireRequest => ({
    ...{ key, owner, lease: 20_000, claimLease: 2_000, wait: true, callers: 1, tokens: 1 },
    ...{ contended: true, limit: 1, permits: 1, label: undefined },
  });

  it('P32: a withdrawal that overtakes a request of its owner leaves the lock to the next waiter', async () => {
    const { session, inside, granted } = await rawSession();
    const key = scene.key();
    const [gone, next] = ['raw:1', 'raw:2'] as [OwnerId, OwnerId];
    await scene.client.hset(key, 'java:1', '1');
    for (const owner of [gone, next]) {
      expect(await session.acquire(request(key, owner))).toMatchObject({ outcome: 'queued' });
    }
    await scene.client.del(key);
    // The request for the first waiter and its withdrawal travel in one batch, behind this one.
    const before = session.inspect(scene.key());
    inside.onMessage(channelOf(key), '0');
    expect(await session.release({ key, owner: gone, wasGranted: false, inDoubt: false })).toBe('not-held');
    await before;
    await until('the next waiter has the lock', () => granted.length > 0);
    expect(granted).toEqual([next]);
    expect(await scene.client.hexists(key, next)).toBe(1);
    expect(await session.release({ key, owner: next, wasGranted: true, inDoubt: false })).toBe('released');
  });

  it('P32: a request that is lost before the withdrawal of its owner finds no connection acquires nothing when it arrives', async () => {
    const { key, owner, late, waiter, proxy } = await lostTry();
    await proxy.refuse();
    await until('the loss is known', () => waiter.lockOf(key).then(never, isCertain));
    expect(await rejectionOf(waiter.cancel(key, owner))).toMatchObject({ inDoubt: false });
    await proxy.accept();
    await until('it is withdrawn', () => waiter.cancel(key, owner).then(() => true, never));
    await deliver(late);
    expect(await scene.client.exists(key)).toBe(0);
  });

  it('P32: a lost request acquires nothing after its owner had the lock by another one, and lost it', async () => {
    const { key, owner, late, waiter } = await lostTry();
    const isGranted = async (): Promise<boolean> =>
      (await waiter.acquire(key, owner, waiting)).outcome === 'granted';
    await until('it has the lock', () => isGranted().catch(never));
    // As forceUnlock of Java does.
    await scene.client.del(key);
    expect(await waiter.renew({ key, owner, lease: 20_000 })).toEqual(['gone']);
    // Replies come in the order of the requests.
    await waiter.lockOf(key);
    await deliver(late);
    expect(await scene.client.exists(key)).toBe(0);
  });

  it('P12, P34: a late claim does not shorten a lease that was extended since', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await client(), await client(proxy.url)];
    const { key, owner } = await queue(holder, waiter);
    await holder.cancel(key, holderOf(holder));
    await waiter.granted(owner);
    const late = lose(proxy, key);
    const lost = rejectionOf(waiter.renew({ key, owner, lease: 20_000 }));
    await late.isLost;
    await lost;
    const extended = (): Promise<boolean> =>
      waiter.renew({ key, owner, lease: 60_000 }).then(([reply]) => reply === 'renewed', never);
    await until('it is extended', extended);
    await deliver(late.bytes);
    expect((await holder.inspect(key))?.leaseLeft).toBeGreaterThan(50_000);
    expect(await waiter.release(key, owner)).toBe('released');
  });

  it('P12: a claim sets the lease exactly, although an earlier one was not sent', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await client(), await client(proxy.url)];
    const { key, owner } = await queue(holder, waiter);
    await holder.cancel(key, holderOf(holder));
    await waiter.granted(owner);
    await proxy.refuse();
    proxy.cut((connection) => !connection.subscribes);
    await until('it is cut off', () => waiter.renew({ key, owner, lease: 500 }).then(never, () => true));
    await proxy.accept();
    await until('it is claimed', () => waiter.renew({ key, owner, lease: 500 }).then(() => true, never));
    expect(await scene.client.pttl(key)).toBeLessThanOrEqual(500);
  });

  it('P12: a grant that was broken before its reply arrives is not delivered', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await client(), await client(proxy.url)];
    const { key, owner } = await queue(holder, waiter);
    const answer = proxy.hold('replies', ({ subscribes }) => !subscribes);
    await holder.release(key, holderOf(holder));
    await until('it is granted', () => scene.client.hexists(key, owner));
    const broken = await scene.client.hget(key, 'token');
    expect(await holder.forceRelease(key)).toBe(true);
    await until('it is notified', () => waiter.broken.includes(owner));
    // As the engine does.
    const again = waiter.acquire(key, owner, waiting);
    answer();
    const reply = await again;
    expect(reply).toMatchObject({ outcome: 'granted', token: expect.any(Number) });
    expect(reply).not.toMatchObject({ token: Number(broken) });
    expect(waiter.grants).toEqual([]);
    expect(await waiter.release(key, owner)).toBe('released');
  });

  it('F14: a half-open subscription is closed once a poll has found a free lock, also while others wait', async () => {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await client(), await client(proxy.url)];
    const { key, owner } = await queue(holder, waiter);
    expect(await waiter.acquire(key, waiter.newOwner(), waiting)).toMatchObject({ outcome: 'queued' });
    const mute = proxy.connections.filter(({ subscribes }) => subscribes);
    for (const connection of mute) connection.swallow('replies');
    await holder.release(key, holderOf(holder));
    expect(await waiter.acquire(key, owner, waiting)).toMatchObject({ outcome: 'granted' });
    await until('it is closed', () => mute.every((connection) => !proxy.connections.includes(connection)));
  });

  it('F54: nothing is kept of owners that the store reports as gone', async () => {
    const { session, inside } = await rawSession();
    const key = scene.key();
    // Another client waits, so that every grant begins a turn.
    await scene.server.client().subscribe(channelOf(key));
    for (let number = 1; number <= 12; number += 1) {
      const owner = `raw:${String(number)}` as OwnerId;
      const reply = await session.acquire({ ...request(key, owner), wait: false });
      expect(reply).toMatchObject({ outcome: 'granted', othersWait: true });
      await scene.client.del(key);
      if (number % 3 === 0) await session.reserve({ key, owner, lease: 20_000, tokens: 8 });
      else if (number % 3 === 1) await session.renew([{ key, owner, lease: 20_000 }]);
      else {
        // The reply to the reservation comes after the release was sent.
        await scene.client.hset(key, owner, '1');
        const late = session.reserve({ key, owner, lease: 20_000, tokens: 8 });
        await Promise.all([session.release({ key, owner, wasGranted: true, inDoubt: false }), late]);
      }
    }
    expect(inside.turns.size).toBe(0);
  });

  const holderOf = (holder: PortClient): OwnerId => `${holder.id}:1` as OwnerId;

  /** One client holds a key under {@link holderOf}, another one waits for it. */
  async function queue(
    holder: PortClient,
    waiter: PortClient,
  ): Promise<{ readonly key: string; readonly owner: OwnerId }> {
    const [key, owner] = [scene.key(), waiter.newOwner()];
    await holder.take(key, holder.newOwner());
    expect(await waiter.acquire(key, owner, waiting)).toMatchObject({ outcome: 'queued' });
    return { key, owner };
  }

  /** A waiter whose request after a message is lost: its bytes may still arrive. */
  async function lostTry(): Promise<
    Awaited<ReturnType<typeof queue>> & {
      readonly late: string;
      readonly waiter: PortClient;
      readonly proxy: TcpProxy;
    }
  > {
    const proxy = await scene.proxy();
    const [holder, waiter] = [await client(), await client(proxy.url)];
    const queued = await queue(holder, waiter);
    const late = lose(proxy, queued.key);
    await holder.release(queued.key, holderOf(holder));
    await late.isLost;
    return { ...queued, late: late.bytes, waiter, proxy };
  }

  function lose(proxy: TcpProxy, key: string): { bytes: string; readonly isLost: Promise<void> } {
    const late = { bytes: '', isLost: Promise.resolve() };
    late.isLost = proxy.loseRequest((text, { subscribes }) => {
      if (subscribes || !text.includes(key)) return false;
      late.bytes = text;
      return true;
    });
    return late;
  }

  /** Sends bytes as a slow network would deliver them, and waits for the reply. */
  async function deliver(bytes: string): Promise<void> {
    expect(bytes).not.toBe('');
    const socket = connect(scene.server.port, '127.0.0.1');
    socket.write(bytes, 'latin1');
    await within(2_000, 'an answer', once(socket, 'data'));
    socket.destroy();
  }
});

describe("Redisson's locks in a Cluster", () => {
  const scene = new TopologyScene(
    () => RedisCluster.start({ replicasEach: 0 }),
    ({ nodes }) => ({ store: redissonStore({ redis: { nodes: [...nodes] } }) }),
  );

  it('P41: waiters of a slot that moves away and back are served at once, and none after it has left', async () => {
    const [holder, waiter] = [await scene.app(), await scene.app()];
    const key = scene.key();
    const slot = keySlot(key);
    const home = await scene.servers.primaryOf(slot);
    const other = (await scene.servers.primaries()).find((server) => server !== home)!;
    const [back, away] = [home.client(), other.client()];
    const held = await holder.locks.acquire(key);
    const moving = waiter.locks.acquire(key, { waitTime: 60_000 });
    await queuedIn(waiter, key);
    await scene.servers.migrateSlot(slot, other);
    await until('it listens at the new server', () => isHeard(away, key, 1));
    await held.release();
    await (await within(500, 'the waiter that moved', moving)).release();
    await scene.servers.migrateSlot(slot, home);
    for (let round = 0; round < 3; round += 1) {
      const again = await holder.locks.acquire(key);
      const next = waitFor(waiter, key);
      await until('it listens', () => isHeard(back, key, 1));
      await again.release();
      await (await within(500, 'a waiter that came later', next)).release();
      await until('it has left', () => isHeard(back, key, 0));
    }
  });

  const waitFor = (app: LockApp, key: string): ReturnType<LockApp['locks']['acquire']> =>
    app.locks.acquire(key, { waitTime: 60_000 });

  async function isHeard(server: Redis, key: string, listeners: number): Promise<boolean> {
    const [, count] = (await server.call('PUBSUB', 'SHARDNUMSUB', channelOf(key))) as [string, number];
    return count === listeners;
  }
});

function never(): false {
  return false;
}

function isCertain(error: unknown): boolean {
  return !storeFailure(error).inDoubt;
}
