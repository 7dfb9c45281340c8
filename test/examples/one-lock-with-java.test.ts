import { expect, it } from '@jest/globals';
import { Example, send } from '../support/example.js';

/** The Java service is tried by the tests of test/interop: it locks the same way. */
const example = new Example('one-lock-with-java');

it('examples/one-lock-with-java: an order that Java invoices is shipped afterwards', async () => {
  const client = example.redis.client();
  // As an RLock of Redisson is held, and unlocked.
  await client.hset('order:42', '8743c9c0-0795-4907-87fd-6c719a6b4586:31', '1');
  await client.pexpire('order:42', 30_000);
  const shipped = send(example.app, 'POST', '/orders/42/shipment');
  const other = await send(example.app, 'POST', '/orders/43/shipment');
  expect(other.body).toEqual({ order: '43', shippedBy: 'Nest', token: 1 });
  await client.del('order:42');
  await client.publish('redisson_lock__channel:{order:42}', '0');
  expect((await shipped).body).toMatchObject({ order: '42', shippedBy: 'Nest' });
});
