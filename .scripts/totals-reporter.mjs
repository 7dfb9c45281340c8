import { writeSync } from 'node:fs';

/** Passes the counts of a Jest run to `.scripts/test.mjs`, which prints them as its last line. */
export default class TotalsReporter {
  onRunComplete(_contexts, results) {
    const pipe = process.env['TEST_TOTALS_FD'];
    // A test file that could not run has no failed tests, but counts as failed.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    if (pipe) writeSync(Number(pipe), `${results.numPassedTests} passed, ${failed} failed`);
  }
}
