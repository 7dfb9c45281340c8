import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError, type LockHandle } from '../../lib/index.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { resolveReplicas } from '../../lib/stores/redis/replicas.js';
import { PortClient } from '../contract/port-client.js';
import { FencedRegister } from '../support/exclusion-witness.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { LockLoad } from '../support/lock-load.js';
import type { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { stopwatch } from '../support/stopwatch.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { throughout, TopologyScene } from './topology-scene.js';

const patient = { waitTime: 60_000 };

/** Renewals are 4 s apart, and a request times out after 2 s. */
const slowly = { watchdogTimeout: 12_000 };
const TOLD_WITHIN = 6_000;

describe('faults of servers that Sentinel watches', () => {
  const scene = new TopologyScene(
    () => SentinelGroup.start(),
    ({ sentinels, name }) => ({ redis: { sentinels: [...sentinels], name } }),
  );

  const killPrimary = killerIn(scene);

  it('F3: a grant that no replica has is lost at a failover: its holder is notified at once, and its token is rejected', async () => {
    // Renewals are 40 s apart.
    const [holder, other] = [await scene.app({ watchdogTimeout: 120_000 }), await scene.app()];
    const register = new FencedRegister();
    await scene.servers.cutReplication();
    const [held, ...others] = await Promise.all([
      holder.locks.acquire(scene.key()),
      holder.locks.acquire(scene.key(), { leaseTime: 120_000 }),
      holder.locks.acquire(scene.key(), { mode: 'shared' }),
    ]);
    expect(register.write(held.token, 'of the first')).toBe('written');
    const lost = [held, ...others].map(({ key }) =>
      next(holder.locks.events, (event) => event.type === 'lost' && event.key === key, 20_000),
    );
    const dead = await killPrimary();
    scene.servers.resumeReplicas();
    await scene.servers.promotedAfter(dead);
    await within(TOLD_WITHIN, 'the losses', Promise.all(lost));
    expect(held.isHeld).toBe(false);
    const second = await other.locks.acquire(held.key);
    expect(second.token).toBeGreaterThan(held.token);
    expect(register.write(second.token, 'of the second')).toBe('written');
    expect(register.write(held.token, 'late')).toBe('refused');
    expect(await held.release()).toBe('expired');
    expect(second.isHeld).toBe(true);
    await second.release();
    await scene.nothingLeft();
  });

  it.each([
    { how: 'a planned failover', settings: { watchdogTimeout: 6_000 }, act: () => scene.servers.failover() },
    {
      how: 'the death of the primary',
      settings: slowly,
      act: async () => scene.servers.promotedAfter(await killPrimary()),
    },
  ])(
    'P40: $how only delays callers: the replica keeps the hold and serves the waiter',
    async ({ settings, act }) => {
      const [holder, waiter] = [await scene.app(settings), await scene.app()];
      const key = scene.key();
      const held = await holder.locks.acquire(key);
      const waiting = waiter.locks.acquire(key, patient);
      await queuedIn(waiter, key);
      await scene.servers.replicated();
      await act();
      await renewed(held);
      expect(await held.release()).toBe('released');
      const second = await within(3_000, 'the waiter', waiting);
      expect(second.token).toBeGreaterThan(held.token);
      expect(holder.events('lost')).toEqual([]);
      await second.release();
      await scene.nothingLeft();
    },
  );

  it.each([
    ['a planned failover', () => scene.servers.failover()],
    ['the death of the primary', async () => scene.servers.promotedAfter(await killPrimary())],
  ])('F68: after %s no key stays blocked by a hold that no process has', async (_, act) => {
    const apps = await Promise.all(Array.from({ length: 3 }, () => scene.app()));
    const loads = Array.from({ length: 8 }, () => new LockLoad(apps));
    await Promise.all(loads.map((load) => load.longestWait()));
    await act();
    // The lease is 30 s.
    for (const load of loads) expect(await load.longestWait()).toBeLessThan(5_000);
    await Promise.all(loads.map((load) => load.stop()));
  });

  it('P40: clients of a hanging primary move to the new one, and the old one does no harm when it wakes', async () => {
    const [holder, waiter] = [await scene.app(slowly), await scene.app()];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    await scene.servers.replicated();
    const former = await scene.servers.stopPrimary();
    await scene.servers.promotedAfter(former);
    await renewed(held);
    former.resume();
    await isReplica(former);
    await throughout(1_500, 'held', () => held.isHeld);
    expect(waiter.events('granted')).toEqual([]);
    expect(await held.release()).toBe('released');
    await (await within(3_000, 'the waiter', waiting)).release();
    expect(holder.events('lost')).toEqual([]);
    await scene.nothingLeft();
  });

  it('B6, B14: the application starts while no sentinel is reachable, logs that, and works when one is back', async () => {
    const proxies = await Promise.all(
      scene.servers.sentinelServers.map(async (sentinel) => {
        const proxy = await TcpProxy.before(sentinel.port);
        await proxy.refuse();
        return proxy;
      }),
    );
    const sentinels = proxies.map(({ port }) => ({ host: '127.0.0.1', port }));
    const options = { redis: { sentinels, name: scene.servers.name }, shutdownTimeout: 50 };
    const app = await within(2_000, 'the start', LockApp.start(options));
    try {
      expect(app.log.matching("Locks can't be acquired yet")).toHaveLength(1);
      const error = await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 100 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      const acquiring = app.locks.acquire(scene.key(), patient);
      await proxies[0]?.accept();
      await (await within(3_000, 'the lock', acquiring)).release();
    } finally {
      await app.close();
      await Promise.all(proxies.map((proxy) => proxy.refuse()));
      for (const proxy of proxies) proxy.cut();
    }
    // B14: the check of the server has stopped looking for it, too.
    const [proxy] = proxies;
    await proxy?.accept();
    // A request that was under way may still arrive; one that found the primary would be followed by a connection.
    const most = (proxy?.connectionsAccepted ?? NaN) + 1;
    await throughout(1_500, 'closed', () => (proxy?.connectionsAccepted ?? NaN) <= most);
    expect(proxy?.connections).toEqual([]);
    await Promise.all(proxies.map((each) => each.close()));
    await scene.nothingLeft();
  });
});

describe('grants that replicas must confirm', () => {
  const scene = new TopologyScene(
    () => SentinelGroup.start(),
    ({ sentinels, name }) => ({ redis: { sentinels: [...sentinels], name }, replicas: { min: 1 } }),
  );

  const killPrimary = killerIn(scene);

  it('P40: a confirmed grant survives the death of the primary', async () => {
    const [holder, other] = [await scene.app(slowly), await scene.app()];
    const key = scene.key();
    await scene.servers.replicated();
    const held = await holder.locks.acquire(key);
    const dead = await killPrimary();
    await scene.servers.promotedAfter(dead);
    await renewed(held);
    // By now the other process has found the new primary, too, and waits for the hold.
    await (await other.locks.acquire(scene.key(), patient)).release();
    // However late a busy machine reports a timeout, the lock is never granted.
    await until('it is known to be held', async () => {
      const refused = await rejectionOf(other.locks.acquire(key, { waitTime: 1_000 }));
      return refused instanceof LockTimeoutError;
    });
    expect(holder.events('lost')).toEqual([]);
    expect(await held.release()).toBe('released');
    await scene.nothingLeft();
  });

  it.each([
    [1, 1_200],
    [10, 0],
  ])(
    'P40, B12: without enough replicas an acquire of %d keys fails in time and leaves none held, and with them all are',
    async (count, waitTime) => {
      const app = await scene.app();
      const keys = Array.from({ length: count }, () => scene.key());
      await scene.servers.pauseReplicas();
      try {
        const took = stopwatch();
        const error = await rejectionOf(app.locks.acquire(keys, { waitTime }));
        expect(took()).toBeLessThan(1_600);
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect((error as LockUnavailableError).message).toContain('replicas.min');
        expect(app.events('granted')).toEqual([]);
        await scene.nothingLeft();
      } finally {
        scene.servers.resumeReplicas();
      }
      const lock = await app.locks.acquire(keys, patient);
      expect(lock.isHeld).toBe(true);
      await lock.release();
      await scene.nothingLeft();
    },
  );

  /** A grant that is pushed to a waiter, and waits for replicas that have stopped. */
  const grantUnconfirmed = async () => {
    const primary = await scene.servers.primary();
    const [store, control] = [confirmingStoreAt(primary.url), primary.client()];
    const [holder, waiter] = [await PortClient.open(store), await PortClient.open(store)];
    const [first, owner, key] = [holder.newOwner(), waiter.newOwner(), scene.key()];
    await scene.servers.replicated();
    await holder.take(key, first);
    expect(await waiter.acquire(key, owner, { wait: true })).toMatchObject({ outcome: 'queued' });
    await scene.servers.pauseReplicas();
    await holder.release(key, first);
    await until('the pushed grant waits for replicas', async () =>
      (await control.info('clients')).includes('blocked_clients:1'),
    );
    const close = async (): Promise<void> => {
      scene.servers.resumeReplicas();
      await Promise.all([holder.close(), waiter.close()]);
    };
    return { primary, control, waiter, key, owner, close };
  };

  it('P40: the release of one request does not release the confirmed grant of another', async () => {
    const { control, waiter, key, owner, close } = await grantUnconfirmed();
    try {
      const asking = waiter.acquire(key, owner, { wait: true, contended: true });
      // Claimed by that request, which gets through when the wait for replicas has failed.
      await until(
        'the lock is claimed',
        async () =>
          (await control.hexists(`lock:${key}`, owner)) === 1 &&
          (await control.hexists(`lock:${key}`, 'unclaimed')) === 0,
      );
      scene.servers.resumeReplicas();
      expect(await within(3_000, 'the answer', asking)).toMatchObject({ outcome: 'granted' });
      expect(await waiter.inspect(key)).toMatchObject({ owner });
      expect(await waiter.release(key, owner)).toBe('released');
    } finally {
      await close();
    }
    await scene.nothingLeft();
  });

  it('B23: a pushed grant that is force-released while it waits for replicas is reported as broken last', async () => {
    const { primary, control, waiter, key, owner, close } = await grantUnconfirmed();
    const operator = await PortClient.open(new RedisLockStore(primary.url, 'lock:', undefined));
    try {
      expect(await operator.forceRelease(key)).toBe(true);
      // The connection for commands is blocked until the replicas reply; the one for grants is not.
      for (let turn = 0; turn < 50; turn++) await control.ping();
      scene.servers.resumeReplicas();
      await until('the break is reported', () => waiter.broken.includes(owner));
      await waiter.inspect(key);
      expect(waiter.pushes.at(-1)).toEqual(['broken', owner]);
      await waiter.cancel(key, owner);
    } finally {
      await close();
      await operator.close();
    }
    await scene.nothingLeft();
  });

  it('P32: a grant whose confirmation was cut off is released as soon as the primary is reachable again', async () => {
    const proxy = await TcpProxy.before((await scene.servers.primary()).port);
    scene.until({ kill: () => proxy.close() });
    const app = await scene.app({ redis: proxy.url });
    const cut = proxy.loseReply((request) => /\r\nwait\r\n/i.test(request));
    const error = await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 0 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    await cut;
    await scene.nothingLeft(3_000);
  });

  function confirmingStoreAt(url: string): RedisLockStore {
    return new RedisLockStore(url, 'lock:', resolveReplicas('replicas', { min: 1 }, 30_000));
  }
});

/** Kills the primary, and restarts it as a replica after the test in any case. */
function killerIn(scene: TopologyScene<SentinelGroup>): () => Promise<RedisServer> {
  return async () => {
    const dead = await scene.servers.killPrimary();
    scene.until({
      kill: async () => {
        await scene.servers.promotedAfter(dead);
        await scene.servers.restart(dead);
      },
    });
    return dead;
  };
}

/** The new primary accepts a renewal; an old one still serves reads. */
async function renewed(held: LockHandle): Promise<void> {
  let term = 30_000;
  await until('the new primary renews the hold', () => {
    // Longer than the remaining lease, so that the store is asked.
    term += 1_000;
    return held.extend(term).then(
      () => true,
      () => false,
    );
  });
}

async function isReplica(server: RedisServer): Promise<void> {
  const client = server.client();
  await until('the former primary is a replica', async () =>
    (await client.info('replication').catch(() => '')).includes('role:slave'),
  );
}
