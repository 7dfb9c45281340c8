import { readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { table } from '../bench/report/table.mjs';

const page = fileURLToPath(new URL('../docs/internals/rules.md', import.meta.url));

/** The order of the columns. Further stores follow. */
const STORES = [
  'memory',
  'fallback',
  'redis',
  'redis-sentinel',
  'redis-cluster',
  'quorum',
  'postgres',
  'etcd',
  'zookeeper',
];
const KINDS = 'BPFO';
/** How much of the text of a rule is shown, characters. */
const SHOWN = 56;
const NONE = '–';
const UNNUMBERED = 'no number';

/** The rule numbers at the start of the title, or of the nearest enclosing heading with numbers. */
function rulesOf({ title, ancestorTitles }) {
  for (const text of [title, ...ancestorTitles.toReversed()]) {
    const [head] = /^(?:[BPFO]\d{1,2}(?:, )?)+(?=:)/.exec(text) ?? [];
    if (head !== undefined) return head.split(', ');
  }
  return [UNNUMBERED];
}

/** The kind of rules and the store of a test file. */
function placeOf(file) {
  const name = basename(file, '.test.ts');
  const kind = basename(dirname(file));
  return kind === 'faults' ? [kind, name.slice(0, name.indexOf('-'))] : [kind, name];
}

const orderOf = (code) =>
  code === UNNUMBERED ? Infinity : KINDS.indexOf(code[0]) * 1_000 + Number(code.slice(1));

/**
 * Counts the tests of each rule for each store.
 *
 * @param {readonly { testFilePath: string, testResults: readonly { title: string, ancestorTitles: readonly string[],
 *   status: string }[] }[]} files results of Jest
 * @returns {Map<string, { stores: string[], rows: Map<string, Map<string, { passed: number, failed: number }>> }>} by
 *   the folder of the tests; rows by number
 */
export function countRules(files) {
  const tables = new Map();
  for (const { testFilePath, testResults } of files) {
    const [kind, store] = placeOf(testFilePath);
    const counts = tables.get(kind) ?? { stores: new Set(), rows: new Map() };
    tables.set(kind, counts);
    for (const test of testResults) {
      if (test.status !== 'passed' && test.status !== 'failed') continue;
      counts.stores.add(store);
      for (const code of rulesOf(test)) {
        const row = counts.rows.get(code) ?? new Map();
        counts.rows.set(code, row);
        const cell = row.get(store) ?? { passed: 0, failed: 0 };
        row.set(store, cell);
        cell[test.status] += 1;
      }
    }
  }
  const placeIn = (store) => (STORES.includes(store) ? STORES.indexOf(store) : STORES.length);
  return new Map(
    [...tables].map(([kind, { stores, rows }]) => [
      kind,
      {
        stores: [...stores].sort((one, other) => placeIn(one) - placeIn(other)),
        rows: new Map([...rows].sort(([one], [other]) => orderOf(one) - orderOf(other))),
      },
    ]),
  );
}

const shown = (cell) => {
  if (cell === undefined) return NONE;
  return cell.failed > 0 ? `${cell.passed} (${cell.failed} failed)` : `${cell.passed}`;
};

/** The start of the text of each rule. */
function textsOf(rules) {
  const items = rules.matchAll(/^- \*\*([BOPF]\d{1,2})\*\* ([^]*?)(?=\n- |\n\n|$(?![^]))/gm);
  const first = (text) => {
    const line = text
      .replace(/\s+/g, ' ')
      .trim()
      .replace(/`| ?_[a-z, ]+_$/g, '');
    return line.length > SHOWN ? `${line.slice(0, SHOWN - 1).trimEnd()}…` : line;
  };
  return new Map([...items].map(([, code, text]) => [code, first(text)]));
}

/** @param {ReturnType<typeof countRules>} tables */
export function rulesTable(tables, rules = readFileSync(page, 'utf8')) {
  const texts = textsOf(rules);
  const parts = [];
  for (const [kind, { stores, rows }] of tables) {
    const lines = [...rows].map(([code, row]) => [
      code,
      texts.get(code) ?? '',
      ...stores.map((store) => shown(row.get(store))),
    ]);
    parts.push(
      `Tests in test/${kind} by rule and store (one with two numbers counts for both):\n\n` +
        table(['rule', '', ...stores], lines),
    );
  }
  return parts.join('\n\n');
}

/** The differences that stores have declared: see test/contract/store-under-test.ts. */
function differencesIn(folder) {
  const lines = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return ['Permitted differences between stores, as declared in test/contract:', ...lines.sort()].join('\n');
}

/** Prints the table after the run. */
export default class RulesTableReporter {
  onRunComplete(_contexts, { testResults }) {
    const folder = process.env['RULES_FOLDER'];
    console.log(`\n${rulesTable(countRules(testResults))}\n`);
    if (folder) console.log(`${differencesIn(folder)}\n`);
  }
}
