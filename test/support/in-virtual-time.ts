import { afterAll, beforeAll } from '@jest/globals';
import { VirtualTime } from './virtual-time.js';

/** Gives the tests of a `describe`, or of a file, the time of {@link VirtualTime}. They use no servers and no processes. */
export function inVirtualTime(): void {
  let stop: (() => void) | undefined;
  beforeAll(async () => {
    stop = await VirtualTime.start();
  });
  afterAll(() => stop?.());
}
