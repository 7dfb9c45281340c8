import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { chartOf } from './chart.mjs';
import { resultsText } from './numbers.mjs';
import { pageWith } from './page.mjs';
import { performanceParts } from './performance-page.mjs';
import { CHINESE } from './performance-words.mjs';
import { resultsParts } from './results-page.mjs';
import { scalingParts } from './scaling-page.mjs';

const at = (path) => new URL(`../../${path}`, import.meta.url);
const RESULTS = at('bench/results/results.json');
const FLEETS = at('bench/results/fleets.json');
const CHART = at('docs/introduction/performance-chart.svg');

/** The pages that show results, and their parts. */
const PAGES = {
  'bench/RESULTS.md': ({ rows, fleets }) => resultsParts(rows, fleets),
  'docs/introduction/performance.md': ({ rows }) => performanceParts(rows),
  'docs/zh/introduction/performance.md': ({ rows }) => performanceParts(rows, CHINESE),
  'docs/operations/scaling.md': ({ fleets }) => scalingParts(fleets),
};

/** What a run with `--write` writes, for its last line. */
export const WRITTEN = ['bench/results', ...Object.keys(PAGES), 'docs/introduction/performance-chart.svg'];

/**
 * Writes results, chart and pages. Keeps the previous results of rows that this run has not measured.
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
  await writePages();
}

/**
 * Writes the results of M16 on one store, and the pages. Keeps those of the other stores.
 *
 * @param {string} store
 * @param {import('./scaling-page.mjs').MeasuredFleets} measured
 * @param {readonly string[]} order of the stores
 */
export async function writeFleets(store, measured, order) {
  const all = { ...readFleets(), [store]: measured };
  const ordered = order.flatMap((name) => (name in all ? [[name, all[name]]] : []));
  writeFileSync(FLEETS, resultsText(Object.fromEntries(ordered)));
  await writePages();
}

/** Regenerates the chart and the figures of all pages from the results. */
export async function writePages() {
  const results = { rows: readRows(), fleets: readFleets() };
  mkdirSync(new URL('.', CHART), { recursive: true });
  writeFileSync(CHART, chartOf(results.rows));
  for (const [path, partsOf] of Object.entries(PAGES)) {
    const page = at(path);
    const text = pageWith(readFileSync(page, 'utf8'), partsOf(results));
    const options = { ...(await resolveConfig(page)), parser: 'markdown' };
    writeFileSync(page, await format(text, options));
  }
}

function readRows() {
  return read(RESULTS, 'results.json')?.rows ?? [];
}

function readFleets() {
  return read(FLEETS, 'fleets.json') ?? {};
}

function read(file, name) {
  if (!existsSync(file)) return undefined;
  try {
    return JSON.parse(readFileSync(file, 'utf8'), readBack);
  } catch (error) {
    throw new Error(`bench/results/${name} is not readable. Delete it, and measure all rows.`, {
      cause: error,
    });
  }
}

function readBack(name, value) {
  return value === 'unlimited' && name !== 'retryAttempts' ? Infinity : value;
}
