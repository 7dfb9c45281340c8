import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { aclRules } from '../../lib/stores/redis/doctor/acl-rules.js';
import { redissonStore, type RedissonStoreOptions } from '../../lib/stores/redisson/index.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { RedisServer } from '../support/redis-server.js';
import { next, rejectionOf, until, within } from '../support/until.js';
import { RedisScene } from './redis-scene.js';

const patient = { waitTime: 60_000 };
/** Renewals are 4 s apart. */
const slowly = { watchdogTimeout: 12_000, shutdownTimeout: 50 };

describe("Redisson's locks", () => {
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

  it('J6: a grant counts only when enough replicas have confirmed it, and none is left held without them', async () => {
    const replica = await RedisServer.start();
    scene.until({ kill: () => replica.close() });
    const { host, port } = scene.server;
    await replica.client().replicaof(host, port);
    const app = await started({ redis: scene.server.url, replicas: { min: 1 } });
    const key = scene.key();
    const held = await app.locks.acquire(key, patient);
    expect(await replica.client().exists(key)).toBe(1);
    expect(await held.release()).toBe('released');
    replica.stop();
    const error = await rejectionOf(app.locks.acquire(key, { waitTime: 1_200 }));
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect((error as LockUnavailableError).message).toContain('replicas.min');
    await scene.nothingLeft();
  });
});
