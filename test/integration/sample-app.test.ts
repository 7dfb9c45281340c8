import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Leftovers } from '../../.scripts/applications/leftovers.mjs';
import { type Instance, prepareSampleApp, startInstance } from '../../.scripts/applications/sample-app.mjs';
import { RedisServer } from '../support/redis-server.js';
import { until, within } from '../support/until.js';

/** How long an order holds its lock on the slow instance, so that a test can interfere. */
const SLOW_ORDER_MS = 2_000;

describe('sample app', () => {
  const leftovers = new Leftovers();
  let redis: RedisServer;
  let client: Redis;
  let start: (name: string, env?: Record<string, string>) => Promise<Instance>;
  let plain: Instance;
  let impatient: Instance;
  let slow: Instance;

  beforeAll(async () => {
    await prepareSampleApp({ leftovers, log: () => undefined });
    redis = await RedisServer.start();
    client = redis.client();
    const DATABASE_FILE = join(leftovers.folder('sample-app-test-'), 'shop.db');
    start = (name, env) =>
      startInstance({
        name,
        env: { LOCK_STORE: 'redis', REDIS_URL: redis.url, LOCK_KEY_PREFIX: 'lock:', DATABASE_FILE, ...env },
        leftovers,
      });
    [plain, impatient, slow] = await Promise.all([
      start('plain'),
      start('impatient', { LOCK_WAIT_TIME: '100' }),
      start('slow', { FRAUD_CHECK_LATENCY: `${SLOW_ORDER_MS}` }),
    ]);
  });

  afterAll(async () => {
    await leftovers.remove();
    await redis.close();
  });

  const send = async (instance: Instance, method: string, path: string, body?: unknown) => {
    const init = { method, headers: { 'content-type': 'application/json' } };
    const response = await fetch(
      new URL(path, instance.url),
      body === undefined ? init : { ...init, body: JSON.stringify(body) },
    );
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as unknown };
  };
  const stock = (sku: string, amount: unknown) => send(plain, 'PUT', `/inventory/${sku}`, { stock: amount });
  const level = async (sku: string) => (await send(plain, 'GET', `/inventory/${sku}`)).body;
  const order = (instance: Instance, sku: string, quantity: unknown = 1) =>
    send(instance, 'POST', '/orders', { sku, quantity });

  /** An order that holds its lock and is still working. */
  const orderInProgress = async (sku: string) => {
    const answer = order(slow, sku);
    await until(`${sku} is locked`, () => client.exists(`lock:inventory:${sku}`));
    return { answer };
  };

  it('answers 201 with the remaining stock, the same on every instance', async () => {
    await stock('pear', 10);
    const { status, body } = await order(plain, 'pear', 3);
    expect(status).toBe(201);
    expect(body).toEqual({ orderId: expect.any(String), sku: 'pear', quantity: 3, remaining: 7 });
    expect((await order(impatient, 'pear', 2)).body).toMatchObject({ remaining: 5 });
    expect(await level('pear')).toEqual({ sku: 'pear', stock: 5, sold: 5, orders: 2 });
  });

  it('answers 409 and changes nothing when the stock is too small', async () => {
    await stock('plum', 2);
    expect((await order(plain, 'plum', 3)).status).toBe(409);
    expect(await level('plum')).toEqual({ sku: 'plum', stock: 2, sold: 0, orders: 0 });
  });

  it.each([
    ['a quantity of 0', { sku: 'fig', quantity: 0 }],
    ['no sku', { quantity: 1 }],
  ])('answers 400 for an order with %s, without acquiring a lock', async (_, body) => {
    const before = await commandsOf(client);
    expect((await send(plain, 'POST', '/orders', body)).status).toBe(400);
    expect(await commandsOf(client)).toBe(before);
  });

  it('answers 423 from the library when the lock is not acquired in time, and serves the holder', async () => {
    await stock('grape', 5);
    const first = await orderInProgress('grape');
    const refused = await order(impatient, 'grape');
    expect(refused.status).toBe(423);
    expect(refused.body).toMatchObject({ statusCode: 423, code: 'LOCK_TIMEOUT' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.text).not.toContain('grape');
    expect((await first.answer).status).toBe(201);
    expect(await level('grape')).toEqual({ sku: 'grape', stock: 4, sold: 1, orders: 1 });
  });

  it('acquires one lock for a request that uses it twice: one command to acquire it, one to release it', async () => {
    await stock('lemon', 5);
    const before = await commandsOf(client);
    // It would time out after 100 ms if the inner call waited for the outer one.
    expect((await order(impatient, 'lemon')).status).toBe(201);
    expect((await commandsOf(client)) - before).toBe(2);
  });

  it('lets the database reject the write of a holder that has lost the lock', async () => {
    await stock('olive', 5);
    const stale = await orderInProgress('olive');
    await client.del('lock:inventory:olive');
    expect((await order(plain, 'olive')).body).toMatchObject({ remaining: 4 });

    const refused = await stale.answer;
    expect(refused.status).toBe(503);
    expect(refused.body).toMatchObject({ message: expect.stringContaining('newer request') });
    expect(await level('olive')).toEqual({ sku: 'olive', stock: 4, sold: 1, orders: 1 });
  });

  it('serves its health, and metrics with the names of its handlers, without keys', async () => {
    await stock('quince', 5);
    expect((await order(plain, 'quince')).status).toBe(201);
    const { status, body } = await send(plain, 'GET', '/health');
    expect([status, body]).toMatchObject([
      200,
      { status: 'ok', details: { locks: { status: 'up', reachable: true } } },
    ]);
    const scrape = await (await fetch(new URL('/metrics', plain.url))).text();
    expect(scrape).toMatch(
      /^distributed_lock_hold_duration_seconds_count\{.*operation="OrdersController\.create".*\} \d+$/m,
    );
    expect(scrape).toContain('distributed_lock_local 0');
    expect(scrape).not.toContain('quince');
  });

  it('answers the order in progress before it exits by SIGTERM, and leaves no lock', async () => {
    await stock('peach', 5);
    const last = await orderInProgress('peach');
    const ended = once(slow.child, 'exit');
    slow.child.kill('SIGTERM');
    expect((await last.answer).status).toBe(201);
    await within(5_000, 'the end of the process', ended);
    expect(await client.exists('lock:inventory:peach')).toBe(0);
    expect(await level('peach')).toEqual({ sku: 'peach', stock: 4, sold: 1, orders: 1 });
  });
});

/** The number of scripts that the server has run: one for each step of a lock. */
async function commandsOf(client: Redis): Promise<number> {
  const statistics = await client.info('commandstats');
  return [...statistics.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce(
    (sum, [, calls]) => sum + Number(calls),
    0,
  );
}
