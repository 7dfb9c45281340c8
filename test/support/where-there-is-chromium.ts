import { describe, it } from '@jest/globals';

/** The path of a Chromium; `npm run test:stores` sets it. */
export const chromiumProgram = process.env['CHROMIUM'];

/** Tests that need a browser; without one they are skipped, and the report says by what they are run. */
export function whereThereIsChromium(what: string, tests: () => void): void {
  if (chromiumProgram !== undefined) {
    tests();
    return;
  }
  describe(what, () => {
    it.skip('needs Chromium: run it with npm run test:stores', () => undefined);
  });
}
