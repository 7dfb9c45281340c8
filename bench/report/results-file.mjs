import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.mjs';

const FOLDER = new URL('../../docs/performance/', import.meta.url);
const JSON_FILE = new URL('results.json', FOLDER);
const CHART_FILE = new URL('chart.svg', FOLDER);

/**
 * Writes what was measured for readers of the repository; rows that were not measured now stay as they were.
 *
 * @param {{ id: string }[]} measured
 * @param {import('../candidates/candidates.mjs').Candidate[]} candidates
 */
export function writeResults(measured, candidates) {
  const ids = measured.map(({ id }) => id);
  const rows = [...readRows().filter(({ id }) => !ids.includes(id)), ...measured].sort(
    (a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)),
  );
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(JSON_FILE, `${JSON.stringify({ candidates, rows }, readable, 2)}\n`);
  writeFileSync(CHART_FILE, chartOf(rows));
}

function readRows() {
  try {
    return JSON.parse(readFileSync(JSON_FILE, 'utf8')).rows;
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw new Error('docs/performance/results.json can not be read; delete it, and measure all rows.', {
      cause: error,
    });
  }
}

/** More digits than anybody can measure only hide the figures, and JSON knows no Infinity. */
function readable(_name, value) {
  if (value === Infinity || value === Number.MAX_SAFE_INTEGER) return 'unlimited';
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
