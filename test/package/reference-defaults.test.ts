import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Tables and lists of options, by the heading above them, with the interface that they describe. */
const OPTIONS = [
  ['docs/reference/README.md', '## Options of the module', 'lib/nest/module/distributed-lock.options.ts'],
  ['docs/reference/README.md', '## Options of `postgresStore`', 'lib/stores/postgres/postgres-options.ts'],
  ['docs/reference/README.md', '## Options of `etcdStore`', 'lib/stores/etcd/connection/etcd-options.ts'],
  ['docs/reference/README.md', '## Options of `zookeeperStore`', 'lib/stores/zookeeper/zookeeper-options.ts'],
  ['docs/reference/README.md', '## Options of a call', 'lib/model/lock.options.ts'],
  ['docs/operations/page.md', '# The lock dashboard', 'lib/dashboard/lock-dashboard.options.ts'],
  ['docs/operations/monitoring.md', '## OpenTelemetry', 'lib/opentelemetry/lock-opentelemetry.module.ts'],
] as const;

const plain = (text: string): string => text.replaceAll(/[`_]|(?<=\d) (?=\d)/g, '').trim();

/** A default that is a value, as opposed to a description of it. */
const isValue = (text: string): boolean => /^(?:[\d_]+|'[^']*'|true|false|Infinity)$/.test(text);

/** The defaults in the comments of a file, by the option below each. */
function defaultsIn(source: string): Map<string, string> {
  const comments = source.matchAll(/@default ([^\n]+)\n(?:(?!\*\/)[^])*?\*\/\s*readonly (\w+)\?/g);
  return new Map(
    [...comments]
      .map(([, value = '', option = '']) => [option, value.trim()] as const)
      .filter(([, value]) => isValue(value)),
  );
}

/** An option in the head of an item of a list, and its default in parentheses: "- `limit` (1): …". */
const ITEM = /`(\w+)`(?: \(((?:[^()]|\([^()]*\))*)\))?/g;

/** The defaults that a page has below a heading, by option: those of a table, or of a list. */
function defaultsBelow(page: string, heading: string): Map<string, string> {
  const below = page.slice(page.indexOf(`${heading}\n`) + heading.length);
  const [section = ''] = below.split(/^##? /m);
  const [table] = /(?:^\|.*\n)+/m.exec(section) ?? [];
  if (table === undefined) {
    const heads = [...section.matchAll(/^- (`\w+`.*?):(?: |$)/gm)].map(([, head = '']) => head);
    const items = heads.flatMap((head) => [...head.matchAll(ITEM)]);
    return new Map(items.map(([, option = '', value = '']) => [option, plain(value)]));
  }
  const rows = table.split('\n').map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const column = rows[0]?.indexOf('default') ?? -1;
  return new Map(rows.slice(2).map((cells) => [plain(cells[0] ?? ''), plain(cells[column] ?? '')]));
}

describe('the defaults of options in the pages', () => {
  it.each(OPTIONS)('%s, %s, are those of %s', (page, heading, file) => {
    const rows = defaultsBelow(textOf(page), heading);
    const defaults = [...defaultsIn(textOf(file))].filter(([option]) => rows.has(option));
    expect(defaults.length).toBeGreaterThan(0);
    const shown = defaults.map(([option]) => [option, rows.get(option)]);
    expect(shown).toEqual(defaults.map(([option, value]) => [option, plain(value)]));
  });

  it('are found in the comments of the code', () => {
    const found = OPTIONS.flatMap(([, , file]) => [...defaultsIn(textOf(file))]);
    expect(found.length).toBeGreaterThan(20);
  });
});
