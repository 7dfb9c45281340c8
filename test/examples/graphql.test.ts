import { describe, expect, it } from '@jest/globals';
import { Example, send } from '../support/example.js';

describe('examples/graphql', () => {
  const example = new Example('graphql');

  const book = async (seat: string, guest: string) => {
    const query =
      'mutation ($seat: ID!, $guest: String!) { bookSeat(seat: $seat, guest: $guest) { seat guest } }';
    const { body } = await send(example.app, 'POST', '/graphql', { query, variables: { seat, guest } });
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
