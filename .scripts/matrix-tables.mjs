/** The tables of tested platforms in README.md and docs/upgrading.md, generated from the results of `npm run matrix`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { markdownTable, pageWith } from '../bench/report/page.mjs';

const path = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url));

const RESULTS = path('test/matrix/results.json');

/** The technologies by the first part of the names of their cells, in the order of the tables, with the supported versions. */
const TECHNOLOGIES = {
  node: ['Node', '20 or newer; 24 is recommended', '20 及以上，推荐 24'],
  nest: ['NestJS', '11, 12', '11、12'],
  typescript: [
    'TypeScript',
    '5.2 or newer, with `experimentalDecorators`',
    '5.2 及以上，启用 `experimentalDecorators`',
  ],
  ioredis: ['ioredis', '5.4.1 or newer, 6', '5.4.1 及以上、6'],
  redis: ['Redis', '6.2 or newer', '6.2 及以上'],
  valkey: ['Valkey', '8.1 or newer', '8.1 及以上'],
  postgres: ['PostgreSQL', '13 or newer, with `pg` 8.11 or newer', '13 及以上，配合 `pg` 8.11 及以上'],
  etcd: ['etcd', '3.4 or newer; 3.5.18 or newer is recommended', '3.4 及以上，推荐 3.5.18 及以上'],
  zookeeper: ['ZooKeeper', '3.8 or newer', '3.8 及以上'],
};

/** The pages with a table, and the columns of that table. */
const PAGES = {
  'README.md': ['', 'supported', 'tested'],
  'README.zh-CN.md': ['', '支持的版本', '测试过的版本'],
  'docs/upgrading.md': ['', 'supported', 'tested', 'tests of each', 'last run'],
};

/**
 * @typedef {{ version: string, passed: number, failed: number, date: string }} Run of a cell: the version that the server or
 *   program reported, the number of tests, and the day
 * @typedef {Record<string, Run | { notRun: string }>} Results by the name of the cell, such as `redis/7.4`
 */

/** Orders `5.4.1` before `5.11.1`. */
const byNumbers = (one, other) => one.localeCompare(other, 'en', { numeric: true });

/** @returns {Results} */
const readResults = () => JSON.parse(readFileSync(RESULTS, 'utf8'));

/** Adds results. A cell that could not run keeps the result of its last run. */
export function saveResults(added) {
  const results = readResults();
  for (const [name, result] of Object.entries(added)) {
    if ('notRun' in result && 'version' in (results[name] ?? {})) continue;
    results[name] = result;
  }
  const sorted = Object.entries(results).sort(([one], [other]) => byNumbers(one, other));
  writeFileSync(RESULTS, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`);
}

/** The lowest and the highest of several values, or the one value. */
function span(values) {
  const sorted = [...new Set(values)].sort((one, other) => (one < other ? -1 : 1));
  return sorted.length === 1 ? String(sorted[0]) : `${sorted[0]} to ${sorted.at(-1)}`;
}

/** The cells of one technology. */
function lineOf(results, kind) {
  const runs = Object.entries(results)
    .filter(([name, result]) => name.startsWith(`${kind}/`) && 'version' in result && result.failed === 0)
    .map(([, result]) => result)
    .sort((one, other) => byNumbers(one.version, other.version));
  const [title, supported, inChinese] = TECHNOLOGIES[kind];
  return {
    '': title,
    supported,
    支持的版本: inChinese,
    tested: runs.map(({ version }) => version).join(', '),
    测试过的版本: runs.map(({ version }) => version).join('、'),
    'tests of each': runs.length === 0 ? '' : span(runs.map(({ passed }) => passed)),
    'last run': runs.length === 0 ? '' : span(runs.map(({ date }) => date)),
  };
}

/** The table of a page, before it is formatted. */
function tableFor(results, page) {
  const head = PAGES[page];
  const lines = Object.keys(TECHNOLOGIES).map((kind) => lineOf(results, kind));
  const cells = lines.map((line) => head.map((column) => line[column]));
  return markdownTable(head, cells, [1, 2, 3, 4]);
}

/** Writes the tables of all pages. */
export async function writePages() {
  const results = readResults();
  for (const page of Object.keys(PAGES)) {
    const file = path(page);
    const text = pageWith(readFileSync(file, 'utf8'), { matrix: tableFor(results, page) });
    writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'markdown' }));
  }
}
