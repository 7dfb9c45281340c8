/** The tables of tested platforms in README.md and docs/reference/compatibility.md, generated from the results of `npm run matrix`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { pageWith } from '../bench/report/page.mjs';

const path = (file) => fileURLToPath(new URL(`../${file}`, import.meta.url));

const RESULTS = path('test/matrix/results.json');

/** The technologies by the first part of the names of their cells, in the order of the tables, with the supported versions in English. */
const TECHNOLOGIES = {
  node: { title: 'Node', supported: '20 or newer; 24 is recommended' },
  nest: { title: 'NestJS', supported: '11, 12' },
  typescript: { title: 'TypeScript', supported: '5.2 or newer, with `experimentalDecorators`' },
  ioredis: { title: 'ioredis', supported: '5.4.1 or newer, 6' },
  redis: { title: 'Redis', supported: '6.2 or newer' },
  valkey: { title: 'Valkey', supported: '7.2 or newer' },
  postgres: { title: 'PostgreSQL', supported: '12 or newer, with `pg` 8.11 or newer' },
  etcd: { title: 'etcd', supported: '3.4 or newer; 3.5.18 or newer is recommended' },
  zookeeper: { title: 'ZooKeeper', supported: '3.5.3 or newer' },
};

/** The supported versions in Chinese. */
const IN_CHINESE = {
  node: '20 及以上，推荐 24',
  nest: '11、12',
  typescript: '5.2 及以上，启用 `experimentalDecorators`',
  ioredis: '5.4.1 及以上、6',
  redis: '6.2 及以上',
  valkey: '7.2 及以上',
  postgres: '12 及以上，配合 `pg` 8.11 及以上',
  etcd: '3.4 及以上，推荐 3.5.18 及以上',
  zookeeper: '3.5.3 及以上',
};

/** The pages with a table, and the columns of that table. */
const PAGES = {
  'README.md': ['', 'supported', 'tested'],
  'README.zh-CN.md': ['', '支持的版本', '测试过的版本'],
  'docs/reference/compatibility.md': ['', 'supported', 'tested', 'tests of each', 'last run'],
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
  const { title, supported } = TECHNOLOGIES[kind];
  return {
    '': title,
    supported,
    支持的版本: IN_CHINESE[kind],
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
  const cells = [head, head.map(() => '---'), ...lines.map((line) => head.map((column) => line[column]))];
  return cells.map((line) => `| ${line.join(' | ')} |`).join('\n');
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
