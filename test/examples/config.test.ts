import { afterAll, describe, expect, it } from '@jest/globals';
import { Example, scriptsOf, send } from '../support/example.js';
import { RedisServer } from '../support/redis-server.js';

describe('examples/config', () => {
  let billing: RedisServer;
  const example = new Example('config', {
    env: async () => {
      billing = await RedisServer.start();
      return { BILLING_REDIS_URL: billing.url, LOCK_WAIT_TIME: '100' };
    },
  });
  afterAll(() => billing.close());

  it('takes the waitTime and the Redis of the first instance from its namespace', async () => {
    expect((await send(example.app, 'POST', '/invoices/1/reminders')).status).toBe(201);
    await using _held = await example.locks.acquire('invoice:1');
    const asked = performance.now();
    expect((await send(example.app, 'POST', '/invoices/1/reminders')).status).toBe(423);
    // The default is 5 s.
    expect(performance.now() - asked).toBeLessThan(4_500);
  });

  it('locks invoices in the Redis of the instance "billing", with its prefix', async () => {
    await using _other = await example.locks.acquire('invoice:2');
    const before = await scriptsOf(billing);
    expect((await send(example.app, 'POST', '/invoices/2/payments')).body).toEqual({
      invoice: '2',
      lockedInBilling: true,
    });
    expect(await scriptsOf(billing)).toBeGreaterThan(before);
    expect(await billing.client().keys('*')).toEqual([expect.stringMatching(/^billing:/)]);
  });

  it('does not start with a variable that is missing or wrong, and says which', async () => {
    await expect(example.start({ REDIS_URL: example.redis.url })).rejects.toThrow(/BILLING_REDIS_URL/);
    await expect(example.start({ BILLING_REDIS_URL: billing.url, LOCK_WAIT_TIME: 'soon' })).rejects.toThrow(
      /waitTime must be/,
    );
  });
});
