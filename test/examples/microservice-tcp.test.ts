import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/demo/application.mjs';
import { Example, EXAMPLES_SET_UP_MS, send } from '../support/example.js';
import { freePort } from '../support/free-port.js';

describe('examples/microservice-tcp', () => {
  let example: Example;
  let app: Instance;

  beforeAll(async () => {
    example = await Example.prepare('microservice-tcp');
    app = await example.start({ STOCK_PORT: String(await freePort()) });
  }, EXAMPLES_SET_UP_MS);

  afterAll(() => example.end());

  it('orders an article through the microservice', async () => {
    expect(await send(app, 'POST', '/orders/pear', { quantity: 3 })).toMatchObject({
      status: 201,
      body: { left: 97 },
    });
  });

  it('answers 409 when the microservice reports that the lock is busy', async () => {
    await using _held = await example.locks.acquire('stock:fig');
    expect(await send(app, 'POST', '/orders/fig', { quantity: 1 })).toMatchObject({
      status: 409,
      body: { message: 'Others order fig at the moment. Try again.' },
    });
  });
});
