import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Instance } from '../../.scripts/demo/application.mjs';
import { Example, EXAMPLES_SET_UP_MS, send } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/fencing', () => {
  let example: Example;
  let app: Instance;

  beforeAll(async () => {
    example = await Example.prepare('fencing');
    app = await example.start();
  }, EXAMPLES_SET_UP_MS);

  afterAll(() => example.end());

  const book = (seat: string, guest: string, pause = 0) =>
    send(app, 'POST', `/seats/${seat}`, { guest, pause });

  it('books a free seat, and refuses a booked one', async () => {
    expect(await book('7', 'Ada')).toMatchObject({ status: 201, body: { guest: 'Ada' } });
    expect(await book('7', 'Bo')).toMatchObject({ status: 409, body: { message: 'Ada has booked seat 7.' } });
  });

  it('refuses the write of a request that stood still for longer than its lease', async () => {
    const late = book('8', 'Ada', 4_000);
    await until('the seat is locked', () => example.locks.isLocked('seat:8'));
    // Waits until the lease of the other has expired.
    expect(await book('8', 'Bo')).toMatchObject({ status: 201, body: { guest: 'Bo' } });
    expect(await late).toMatchObject({
      status: 409,
      body: { message: 'A newer request has used this seat.' },
    });
    expect(await book('8', 'Cy')).toMatchObject({ body: { message: 'Bo has booked seat 8.' } });
  });
});
