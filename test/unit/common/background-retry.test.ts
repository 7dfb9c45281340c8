import { expect, it } from '@jest/globals';
import { TimerQueue } from '../../../lib/common/timer-queue.js';
import { later, systemClock } from '../../../lib/common/clock.js';
import { BackgroundRetry } from '../../../lib/common/background-retry.js';
import { LockStoreError } from '../../../lib/stores/port/index.js';

it('P33: a reconnect starts the next attempt early, and its caller still waits for the outcome', async () => {
  const timers = new TimerQueue(systemClock, true);
  const backgroundRetry = new BackgroundRetry(
    systemClock,
    timers,
    (error) => !(error instanceof LockStoreError) || error.inDoubt,
  );
  let attempts = 0;
  const outcome = backgroundRetry.run<'released', string>({
    attempt: () => {
      attempts += 1;
      if (attempts === 1) {
        return Promise.reject(new LockStoreError('cut', { inDoubt: true, retryable: true }));
      }
      // Replies one event loop turn later.
      return new Promise((resolve) => {
        setImmediate(resolve, 'released');
      });
    },
    until: () => later(systemClock.monotonic(), 5_000),
    replied: (reply) => reply,
    withoutReply: 'unknown',
  });
  await new Promise((resolve) => setImmediate(resolve));
  backgroundRetry.retryNow();
  expect(await outcome).toBe('released');
  expect(attempts).toBe(2);
  await backgroundRetry.idle();
});
