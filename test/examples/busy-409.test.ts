import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/demo/application.mjs';
import { Example, EXAMPLES_SET_UP_MS, send } from '../support/example.js';

describe('examples/busy-409', () => {
  let example: Example;
  let app: Instance;

  beforeAll(async () => {
    example = await Example.prepare('busy-409');
    app = await example.start();
  }, EXAMPLES_SET_UP_MS);

  afterAll(() => example.end());

  it('answers 201 to the booking of a free seat', async () => {
    expect(await send(app, 'POST', '/seats/7/bookings')).toMatchObject({
      status: 201,
      body: { booked: '7' },
    });
  });

  it('answers 409 with the body of its filter, and Retry-After, for a busy one', async () => {
    await using _held = await example.locks.acquire('seat:8');
    const { status, headers, body } = await send(app, 'POST', '/seats/8/bookings');
    expect([status, headers.get('retry-after'), body]).toEqual([
      409,
      '2',
      {
        type: 'https://example.com/problems/busy',
        title: 'Someone else is booking this seat. Try again.',
      },
    ]);
  });
});
