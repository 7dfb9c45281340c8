import * as m1 from './m1-one-after-another.mjs';
import * as m2 from './m2-many-keys.mjs';
import * as m3 from './m3-one-process.mjs';
import * as m4 from './m4-four-processes.mjs';
import * as m5 from './m5-more-callers.mjs';
import * as m6 from './m6-fair-hand-over.mjs';
import * as m7 from './m7-reentry.mjs';
import * as m8 from './m8-idle-holds.mjs';
import * as m9 from './m9-memory.mjs';
import * as m10 from './m10-decorator.mjs';
import * as m11 from './m11-crash.mjs';
import * as m12 from './m12-readers.mjs';
import * as m13 from './m13-semaphore.mjs';
import * as m15 from './m15-cold-start.mjs';
import * as m18 from './m18-flood.mjs';

/**
 * @typedef {object} Context
 * @property {string} url of the private Redis
 * @property {import('../harness/server.mjs').ServerStats} stats
 * @property {import('../candidates/candidates.mjs').Candidate[]} candidates exclusive locks
 * @property {import('../candidates/candidates.mjs').Candidate[]} sharing locks that admit several holders
 * @property {boolean} quick short rounds, as a smoke test
 * @property {(row: string, line: string) => void} progress
 *
 * @typedef {object} RowResult
 * @property {string[]} [text] tables, beside that of the checks
 * @property {import('../report/checks.mjs').Check[]} checks
 * @property {object[]} [loads] what the pages show of loads
 *
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {(context: Context) => Promise<RowResult>} run
 */

/** @type {Row[]} */
export const ROWS = [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m15, m18];
