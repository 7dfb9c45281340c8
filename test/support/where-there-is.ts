import { describe, it } from '@jest/globals';

/** Tests that need an optional program; without it they are skipped, and the report says how to run them. */
export function whereThereIs(name: string, program: string | undefined, command = 'npm run test:stores') {
  return (what: string, tests: () => void): void => {
    if (program !== undefined) {
      tests();
      return;
    }
    describe(what, () => {
      it.skip(`needs ${name}: run it with ${command}`, () => undefined);
    });
  };
}
