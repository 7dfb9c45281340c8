import { describe, expect, it } from '@jest/globals';
import { Example, send } from '../support/example.js';
import { freePort } from '../support/free-port.js';

describe('examples/microservice-tcp', () => {
  const example = new Example('microservice-tcp', {
    env: async () => ({ STOCK_PORT: String(await freePort()) }),
  });

  it('orders an article through the microservice', async () => {
    expect(await send(example.app, 'POST', '/orders/pear', { quantity: 3 })).toMatchObject({
      status: 201,
      body: { left: 97 },
    });
  });

  it('answers 409 when the microservice reports that the lock is busy', async () => {
    await using _held = await example.locks.acquire('stock:fig');
    expect(await send(example.app, 'POST', '/orders/fig', { quantity: 1 })).toMatchObject({
      status: 409,
      body: { message: 'Others order fig at the moment. Try again.' },
    });
  });
});
