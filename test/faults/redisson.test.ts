import { describe, expect, it } from '@jest/globals';
import { LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { redissonStore, type RedissonStoreOptions } from '../../lib/stores/redisson/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';
import { TopologyScene } from './topology-scene.js';

const patient = { waitTime: 60_000 };
/** Renewals are 4 s apart. */
const slowly = { watchdogTimeout: 12_000, shutdownTimeout: 50 };

describe("Redisson's locks: one server", () => {
  const scene = new RedisScene();
  const started = async (options: RedissonStoreOptions): Promise<LockApp> => {
    const app = await LockApp.start({ store: redissonStore(options), ...slowly });
    scene.until({ kill: () => app.close() });
    return app;
  };
  const used = { cluster: false, sharded: false, replicas: false, database: false };
  const rules = aclRules({ prefix: 'order:', others: ['redisson_lock_', 'nestjs_lock:'] }, used);

  it.each([
    ['without its data', {}],
    ['with its data', { appendonly: 'yes', appendfsync: 'always' }],
  ])('J6: a server that restarts %s', async (_, settings) => {
    const server = await RedisServer.start({ settings });
    scene.until({ kill: () => server.close() });
    const [holder, waiter] = [await started({ redis: server.url }), await started({ redis: server.url })];
    const keepsData = 'appendonly' in settings;
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    const lost = next(holder.locks.events, ({ type }) => type === 'lost', 10_000);
    lost.catch(() => undefined);
    await server.kill();
    await server.restart();
    if (keepsData) {
      await until('the server is there', () => waiter.locks.isLocked(key).catch(() => undefined));
      expect(await held.release()).toBe('released');
    } else {
      await lost;
      expect(held.isHeld).toBe(false);
    }
    const second = await within(5_000, 'the waiter', waiting);
    if (keepsData) expect(second.token).toBeGreaterThan(held.token);
    expect(await second.release()).toBe('released');
  });

  it('F9: a user with the recommended rules can do everything and gets no warning', async () => {
    const redis = await scene.server.addUser('exact', 'secret', rules);
    const [one, two] = [
      await started({ redis, keyPrefix: 'order:' }),
      await started({ redis, keyPrefix: 'order:' }),
    ];
    for (const app of [one, two])
      expect(app.log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([]);
    const key = scene.key();
    const held = await one.locks.acquire(key, { label: 'shipment' });
    const waiting = two.locks.acquire(key, patient);
    await queuedIn(two, key);
    await held.extend(60_000);
    expect(await two.admin.inspect(key)).toMatchObject({ token: held.token });
    expect(await held.release()).toBe('released');
    const second = await within(500, 'the message', waiting);
    expect(await one.admin.forceRelease(key)).toBe(true);
    await until('the break is reported', () => !second.isHeld);
    await Promise.all(Array.from({ length: 50 }, () => one.locks.withLock(key, () => undefined)));
    await scene.client.del(`redisson_lock_token:{order:${key}}`);
    const denied = (await scene.client.call('ACL', 'LOG')) as unknown[][];
    expect(denied.filter((entry) => !entry.some((field) => String(field).startsWith('client')))).toEqual([]);
  });

  it.each(rules)('F9: finds at start that %s is missing', async (missing) => {
    const kept = rules.filter((rule) => rule !== missing);
    const redis = await scene.server.addUser('lacking', 'secret', kept);
    const app = await started({ redis, keyPrefix: 'order:' });
    const [warning = '', ...more] = app.log.lines.filter(({ level }) => level === 'warn');
    expect(more).toEqual([]);
    expect(warning).toMatchObject({
      message: expect.stringContaining(`ACL SETUSER lacking ${rules.join(' ')}`),
    });
  });
});

describe("Redisson's locks: servers that Sentinel watches", () => {
  const redisOf = ({ sentinels, name }: SentinelGroup): RedissonStoreOptions['redis'] => {
    return { sentinels: [...sentinels], name };
  };
  const scene = new TopologyScene(
    () => SentinelGroup.start(),
    (servers) => ({ store: redissonStore({ redis: redisOf(servers) }) }),
  );
  const confirmed = async (): Promise<LockApp> => {
    const store = redissonStore({ redis: redisOf(scene.servers), replicas: { min: 1 } });
    const app = await LockApp.start({ store, ...slowly });
    scene.until({ kill: () => app.close() });
    return app;
  };

  it('J6: the primary dies during a hold and a wait: the replica keeps the hold, and its release wakes the waiter', async () => {
    const [holder, waiter] = [await scene.app(slowly), await scene.app()];
    const key = scene.key();
    const held = await holder.locks.acquire(key);
    const waiting = waiter.locks.acquire(key, patient);
    await queuedIn(waiter, key);
    await scene.servers.replicated();
    const dead = await scene.servers.killPrimary();
    scene.until({ kill: () => scene.servers.restart(dead) });
    await scene.servers.promotedAfter(dead);
    await until('the new primary renews the hold', () =>
      held.extend(40_000).then(
        () => true,
        () => false,
      ),
    );
    expect(await held.release()).toBe('released');
    const second = await within(3_000, 'the waiter', waiting);
    expect(second.token).toBeGreaterThan(held.token);
    expect(holder.events('lost')).toEqual([]);
    expect(await second.release()).toBe('released');
  });

  it('J6: a grant that replicas have confirmed survives the death of the primary', async () => {
    const [holder, other] = [await confirmed(), await confirmed()];
    const key = scene.key();
    await scene.servers.replicated();
    const held = await holder.locks.acquire(key);
    const dead = await scene.servers.killPrimary();
    scene.until({ kill: () => scene.servers.restart(dead) });
    await scene.servers.promotedAfter(dead);
    await until('the lock is known to be held', async () => {
      const error = await rejectionOf(other.locks.acquire(key, { waitTime: 1_000 }));
      return error instanceof LockTimeoutError;
    });
    expect(await held.release()).toBe('released');
    expect(holder.events('lost')).toEqual([]);
  });

  it('J6: without enough replicas no lock is granted, and none is left held', async () => {
    const [app, key] = [await confirmed(), scene.key()];
    await scene.servers.pauseReplicas();
    try {
      const error = await rejectionOf(app.locks.acquire(key, { waitTime: 1_200 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect((error as LockUnavailableError).message).toContain('replicas.min');
      const client = (await scene.servers.primary()).client();
      await until('it is free', async () => (await client.exists(key)) === 0);
    } finally {
      scene.servers.resumeReplicas();
    }
    await (await app.locks.acquire(key, patient)).release();
  });
});
