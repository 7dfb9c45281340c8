import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/demo/application.mjs';
import { Example, EXAMPLES_SET_UP_MS, send } from '../support/example.js';

describe('examples/graphql', () => {
  let example: Example;
  let app: Instance;

  beforeAll(async () => {
    example = await Example.prepare('graphql');
    app = await example.start();
  }, EXAMPLES_SET_UP_MS);

  afterAll(() => example.end());

  const book = async (seat: string, guest: string) => {
    const query =
      'mutation ($seat: ID!, $guest: String!) { bookSeat(seat: $seat, guest: $guest) { seat guest } }';
    const { body } = await send(app, 'POST', '/graphql', { query, variables: { seat, guest } });
    return body;
  };

  it('books a free seat', async () => {
    expect(await book('7', 'Ada')).toEqual({ data: { bookSeat: { seat: '7', guest: 'Ada' } } });
  });

  it('reports a busy one as LOCK_TIMEOUT, without the key', async () => {
    await using _held = await example.locks.acquire('seat:8');
    expect(await book('8', 'Bo')).toEqual({
      data: null,
      errors: [
        {
          message: 'The resource is in use by another request. Try again later.',
          locations: [expect.anything()],
          path: ['bookSeat'],
          extensions: { code: 'LOCK_TIMEOUT' },
        },
      ],
    });
  });
});
