import { readFileSync, writeFileSync } from 'node:fs';
import { format, resolveConfig } from 'prettier';
import { chartOf } from './chart.mjs';
import { pageWith } from './page.mjs';
import { performanceParts } from './performance-page.mjs';
import { CHINESE } from './performance-words.mjs';
import { shownResults } from './results.mjs';
import { resultsParts } from './results-page.mjs';
import { scalingParts } from './scaling-page.mjs';

const at = (path) => new URL(`../../${path}`, import.meta.url);
const CHART = 'docs/introduction/performance-chart.svg';

/** The pages that show results, and their parts. */
const PAGES = {
  'bench/RESULTS.md': ({ rows, fleets }) => resultsParts(rows, fleets),
  'docs/introduction/performance.md': ({ rows }) => performanceParts(rows),
  'docs/zh/introduction/performance.md': ({ rows }) => performanceParts(rows, CHINESE),
  'docs/operations/scaling.md': ({ fleets }) => scalingParts(fleets),
};

/** What `writePages` writes, for the user. */
export const WRITTEN = [...Object.keys(PAGES), CHART].join(', ');

/** Regenerates the chart and the figures of all pages from the results. */
export async function writePages() {
  const results = shownResults();
  writeFileSync(at(CHART), chartOf(results.rows));
  for (const [path, partsOf] of Object.entries(PAGES)) {
    const page = at(path);
    const text = pageWith(readFileSync(page, 'utf8'), partsOf(results));
    const options = { ...(await resolveConfig(page)), parser: 'markdown' };
    writeFileSync(page, await format(text, options));
  }
}
