import { describe, expect, it } from '@jest/globals';
import { Example, send } from '../support/example.js';
import { until } from '../support/until.js';

describe('examples/fencing', () => {
  const example = new Example('fencing');

  const book = (seat: string, guest: string, pause = 0) =>
    send(example.app, 'POST', `/seats/${seat}`, { guest, pause });

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
