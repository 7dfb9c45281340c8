import { ClientProxyFactory, Transport } from '@nestjs/microservices';
import { describe, expect, it } from '@jest/globals';
import { lastValueFrom } from 'rxjs';
import { Example, send } from '../support/example.js';
import { freePort } from '../support/free-port.js';

describe('examples/busy-409', () => {
  let port: number;
  const example = new Example('busy-409', {
    env: async () => {
      port = await freePort();
      return { BOOKINGS_PORT: String(port) };
    },
  });

  it('answers 201 to the booking of a free seat', async () => {
    expect(await send(example.app, 'POST', '/seats/7/bookings')).toMatchObject({
      status: 201,
      body: { booked: '7' },
    });
  });

  it('answers 409 with the body of its filter, and Retry-After, for a busy one', async () => {
    await using _held = await example.locks.acquire('seat:8');
    const { status, headers, body } = await send(example.app, 'POST', '/seats/8/bookings');
    expect([status, headers.get('retry-after'), body]).toEqual([
      409,
      '2',
      {
        type: 'https://example.com/problems/busy',
        title: 'Someone else is booking this seat. Try again.',
      },
    ]);
  });

  it('answers messages with the code of the lock error: the filter is global, and the application hybrid', async () => {
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
    });
    const book = (seat: string): Promise<unknown> =>
      lastValueFrom(client.send('book', seat)).catch((error: unknown) => ({ error }));
    try {
      await using _held = await example.locks.acquire('seat:9');
      expect(await book('9')).toEqual({ error: { status: 'error', code: 'LOCK_TIMEOUT', message: 'busy' } });
      expect(await book('10')).toEqual({ booked: '10' });
    } finally {
      client.close();
    }
  });
});
