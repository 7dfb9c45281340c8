import { afterAll, beforeAll } from '@jest/globals';
import { VirtualTime } from './virtual-time.js';

/** Runs the tests of a `describe` or a file in {@link VirtualTime}; for tests without servers and other processes. */
export function inVirtualTime(): void {
  let stop: (() => void) | undefined;
  beforeAll(async () => {
    stop = await VirtualTime.start();
  });
  afterAll(() => stop?.());
}
