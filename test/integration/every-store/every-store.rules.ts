import { afterAll, beforeAll, describe } from '@jest/globals';
import { commandLineRules } from './command-line.rules.js';
import { healthRules } from './health.rules.js';
import type { OperatedStore } from './operated-store.js';

/** Health checks and the command line, which are the same with every store. */
export function everyStoreRules(name: string, start: () => Promise<OperatedStore>): void {
  describe(`operating ${name}`, () => {
    let started: OperatedStore | undefined;
    const store = (): OperatedStore => {
      if (started === undefined) throw new Error('the servers are there only while tests run');
      return started;
    };
    beforeAll(async () => {
      started = await start();
    });
    afterAll(async () => {
      await started?.close();
    });
    commandLineRules(store);
    healthRules(store);
  });
}
