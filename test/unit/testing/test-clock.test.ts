import { expect, it } from '@jest/globals';
import { later } from '../../../lib/common/clock.js';
import { TestClock } from '../../../lib/testing/test-clock.js';

function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('a timer that is set late because the process was blocked fires in the advance in which it is due', async () => {
  const clock = new TestClock(false);
  const dueAt = later(clock.monotonic(), 200);
  let rang = false;
  clock.timers.set(
    () => {
      const left = dueAt - clock.monotonic();
      block(20);
      clock.timers.set(() => (rang = true), left, true);
    },
    100,
    true,
  );
  await clock.advance(200);
  expect(rang).toBe(true);
});

it('no timer fires before its time is reached', async () => {
  const clock = new TestClock(true);
  let rang = false;
  clock.timers.set(() => (rang = true), 201, true);
  await clock.advance(200);
  expect(rang).toBe(false);
  await clock.advance(1);
  expect(rang).toBe(true);
});
