import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { default: Sequencer } = require('@jest/test-sequencer');

/** Package tests install whole applications: they run last, when no test that measures time can suffer from it. */
export default class SlowTestsLast extends Sequencer {
  sort(tests) {
    const isPackageTest = (test) => /[\\/]test[\\/]package[\\/]/.test(test.path);
    const sorted = super.sort(tests);
    return [...sorted.filter((test) => !isPackageTest(test)), ...sorted.filter(isPackageTest)];
  }
}
