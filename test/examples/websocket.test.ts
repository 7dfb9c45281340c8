import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { io, type Socket } from 'socket.io-client';
import { Example } from '../support/example.js';
import { within } from '../support/until.js';

describe('examples/websocket', () => {
  const example = new Example('websocket');
  let client: Socket;

  beforeAll(async () => {
    client = io(example.app.url, { transports: ['websocket'] });
    await within(10_000, 'the connection', new Promise<void>((resolve) => client.once('connect', resolve)));
  });
  afterAll(() => {
    client.disconnect();
  });

  /** Sends the message, and returns the first event that answers it, with its data. */
  const book = async (seat: string): Promise<unknown> => {
    const answer = new Promise((resolve) => client.onAny((event, data) => resolve([event, data])));
    client.emit('book', { seat });
    try {
      return await within(10_000, 'an answer', answer);
    } finally {
      client.offAny();
    }
  };

  it('answers "booked" for a free seat', async () => {
    expect(await book('7')).toEqual(['booked', { seat: '7' }]);
  });

  it('answers "exception" with the code, without the key, for a busy one', async () => {
    await using _held = await example.locks.acquire('seat:8');
    expect(await book('8')).toEqual([
      'exception',
      {
        status: 'error',
        message: 'The resource is in use by another request. Try again later.',
        code: 'LOCK_TIMEOUT',
      },
    ]);
  });
});
