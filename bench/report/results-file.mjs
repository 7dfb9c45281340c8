import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { chartOf } from './chart.mjs';
import { resultsText } from './numbers.mjs';
import { pageWith } from './page.mjs';

const RESULTS = new URL('../results/results.json', import.meta.url);
const PAGE = new URL('../../docs/introduction/performance.md', import.meta.url);
const CHART = new URL('../../docs/introduction/performance-chart.svg', import.meta.url);

/**
 * Writes results, chart and page. Keeps the previous results of rows that this run has not measured.
 *
 * @param {{ id: string }[]} measured
 * @param {import('../candidates/candidates.mjs').Candidate[]} candidates
 */
export async function writeResults(measured, candidates) {
  const ids = measured.map(({ id }) => id);
  const rows = [...readRows().filter(({ id }) => !ids.includes(id)), ...measured].sort(
    (a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)),
  );
  mkdirSync(new URL('.', RESULTS), { recursive: true });
  writeFileSync(RESULTS, resultsText({ candidates, rows }));
  await writePage();
}

/** Regenerates the chart and the figures of the page from the results. */
export async function writePage() {
  const rows = readRows();
  mkdirSync(new URL('.', CHART), { recursive: true });
  writeFileSync(CHART, chartOf(rows));
  const options = { ...(await resolveConfig(PAGE)), parser: 'markdown' };
  writeFileSync(PAGE, await format(pageWith(readFileSync(PAGE, 'utf8'), rows), options));
}

function readRows() {
  if (!existsSync(RESULTS)) return [];
  try {
    return JSON.parse(readFileSync(RESULTS, 'utf8'), readBack).rows;
  } catch (error) {
    throw new Error('bench/results/results.json is not readable. Delete it, and measure all rows.', {
      cause: error,
    });
  }
}

function readBack(name, value) {
  return value === 'unlimited' && name !== 'retryAttempts' ? Infinity : value;
}
