import { writeFileSync } from 'node:fs';

/** Hands the counts of a Jest run to `.scripts/test.mjs`, which prints them as its last line. */
export default class TotalsReporter {
  onRunComplete(_contexts, results) {
    const file = process.env['TEST_TOTALS_FILE'];
    // A test file that could not run at all has no failed tests of its own, but it is not a success either.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    if (file) writeFileSync(file, `${results.numPassedTests} passed, ${failed} failed`);
  }
}
