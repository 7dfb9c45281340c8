import { expect, it } from '@jest/globals';
import { Command, Redis, type RedisOptions } from 'ioredis';
import { next, until, within } from '../support/until.js';
import type { LockApp } from '../support/lock-app.js';
import { RedisScene } from './redis-scene.js';

const scene = new RedisScene();

/** Options that suit an application, but not locks. */
const OPTIONS: RedisOptions & { readonly replyMapping: 'resp3' } = {
  lazyConnect: true,
  keyPrefix: 'shop:',
  stringNumbers: true,
  replyMapping: 'resp3',
  protocol: 3,
  enableAutoPipelining: true,
  showFriendlyErrorStack: true,
  commandTimeout: 1,
  socketTimeout: 1,
  enableReadyCheck: false,
  enableOfflineQueue: true,
  autoResubscribe: true,
  maxRetriesPerRequest: null,
  retryStrategy: () => null,
  reconnectOnError: () => 2,
  scripts: { info: { lua: 'return 1', numberOfKeys: 0 }, evalsha: { lua: 'return 1', numberOfKeys: 0 } },
};

/** All calls of two applications, one of which waits for the other. */
async function useAll(app: LockApp, other: LockApp): Promise<void> {
  expect(app.log.lines.filter(({ level }) => level !== 'log')).toEqual([]);
  const key = scene.key();
  const handle = await app.locks.acquire(key, { label: 'import' });
  expect(handle.token).toEqual(expect.any(Number));
  const waiting = other.locks.acquire(key, { waitTime: 30_000 });
  waiting.catch(() => undefined);
  await until('it waits', async () => (await app.admin.inspect(key))?.waiting === 1);
  expect(await app.admin.inspect(key)).toMatchObject({ label: 'import', token: handle.token });
  expect((await app.admin.list({ match: `${key.slice(0, 5)}*` })).locks).toMatchObject([{ key }]);
  expect((await app.admin.probe()).store).toMatchObject({
    reachable: true,
    description: expect.stringContaining('.'),
  });
  expect(await other.locks.tryAcquire(key)).toBeNull();
  await next(app.locks.events, ({ type }) => type === 'renewed', 30_000);
  expect(handle.isHeld).toBe(true);
  expect(await handle.release()).toBe('released');
  const granted = await within(30_000, 'the lock', waiting);
  expect(granted.token).toBeGreaterThan(handle.token);
  // Requests of one tick are one pipeline.
  const read = await Promise.all([app.admin.inspect(key), app.admin.inspect(`${key}-free`)]);
  expect(read).toEqual([expect.objectContaining({ token: granted.token }), null]);
  expect(await app.admin.forceRelease(key)).toBe(true);
  await until('its holder is notified', () => !granted.isHeld);
  const failed = ['unavailable', 'renewal-failed', 'store-unavailable'];
  expect([...app.seen, ...other.seen].filter(({ type }) => failed.includes(type))).toEqual([]);
}

it('F74: options of the application’s client: all requests work', async () => {
  const client = new Redis(scene.url, OPTIONS);
  try {
    const { host = '', port = 0 } = client.options;
    const options = { ...OPTIONS, host, port };
    const settings = { watchdogTimeout: 3_000 };
    const one = await scene.app({ redis: client, ...settings });
    await useAll(one, await scene.app({ redis: options, ...settings }));
    expect(one.log.matching('shop:')).toHaveLength(1);
  } finally {
    client.disconnect();
  }
});

it('F74: ioredis transforms arguments and replies of commands for the whole process: all requests work', async () => {
  const names = 'eval evalsha info scan wait ping subscribe ssubscribe time config asking'.split(' ');
  const transformers = (Command as unknown as { _transformer: Record<'argument' | 'reply', object> })
    ._transformer;
  const given = { argument: { ...transformers.argument }, reply: { ...transformers.reply } };
  for (const name of names) Command.setReplyTransformer(name, () => 'what the application reads');
  try {
    const settings = { watchdogTimeout: 3_000 };
    await useAll(await scene.app(settings), await scene.app(settings));
  } finally {
    Object.assign(transformers, given);
  }
});
