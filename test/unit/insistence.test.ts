import { expect, it } from '@jest/globals';
import { Alarms } from '../../lib/engine/alarms.js';
import { later, systemClock } from '../../lib/engine/clock.js';
import { Insistence } from '../../lib/engine/insistence.js';
import { LockStoreError } from '../../lib/index.js';

it('P33: a store that is back hurries the next attempt, not the caller who waits for what comes of it', async () => {
  const alarms = new Alarms(systemClock, true);
  const insistence = new Insistence(systemClock, alarms);
  let attempts = 0;
  const outcome = insistence.insist<'released', string>({
    attempt: () => {
      attempts += 1;
      if (attempts === 1) {
        return Promise.reject(new LockStoreError('cut', { inDoubt: true, retryable: true }));
      }
      // A way there and back.
      return new Promise((resolve) => {
        setImmediate(resolve, 'released');
      });
    },
    until: () => later(systemClock.monotonic(), 5_000),
    resultOf: (reply) => reply ?? 'unknown',
  });
  await new Promise((resolve) => setImmediate(resolve));
  insistence.hurry();
  expect(await outcome).toBe('released');
  expect(attempts).toBe(2);
  await insistence.idle();
});
