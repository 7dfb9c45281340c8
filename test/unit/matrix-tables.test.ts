import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { pages, readResults, tableFor, withTable } from '../../.scripts/matrix-tables.mjs';

const root = join(import.meta.dirname, '../..');

const run = (version: string, passed: number, date: string, failed = 0) => ({
  version,
  passed,
  failed,
  date,
});

/** The cells of a line of a table in Markdown. */
const cellsOf = (table: string, title: string): string[] =>
  (table.split('\n').find((line) => line.startsWith(`| ${title} `)) ?? '')
    .split('|')
    .map((cell) => cell.trim())
    .slice(1, -1);

describe('the tables of tested platforms', () => {
  const results = {
    'redis/6.2': run('6.2.14', 90, '2026-01-01'),
    'redis/7.4': run('7.4.1', 100, '2026-02-03'),
    'redis/8.0': run('8.0.2', 99, '2026-02-04', 1),
    'etcd/3.6': { notRun: 'Go is not installed' },
    'postgres/16': run('16.14', 80, '2026-01-02'),
  };

  it('have one line for each technology, with the versions that passed', () => {
    const table = tableFor(results, 'README.md');
    expect(cellsOf(table, 'Redis')).toEqual(['Redis', '6.2 or newer', '6.2.14, 7.4.1']);
    expect(cellsOf(table, 'PostgreSQL').at(-1)).toBe('16.14');
    expect(cellsOf(table, 'etcd').at(-1)).toBe('');
  });

  it('have the same versions in Chinese', () => {
    const table = tableFor(results, 'README.zh-CN.md');
    expect(cellsOf(table, 'Redis')).toEqual(['Redis', '6.2 及以上', '6.2.14、7.4.1']);
    const versionsOf = (page: string): unknown[] =>
      tableFor(results, page)
        .split('\n')
        .map((line) => line.split('|')[2]?.match(/\d+(?:\.\d+)*/g));
    expect(versionsOf('README.zh-CN.md')).toEqual(versionsOf('README.md'));
  });

  it('say in the reference how many tests each version has passed, and when', () => {
    const table = tableFor(results, 'docs/reference/compatibility.md');
    expect(cellsOf(table, 'Redis').slice(-2)).toEqual(['90 to 100', '2026-01-01 to 2026-02-03']);
    expect(cellsOf(table, 'PostgreSQL').slice(-2)).toEqual(['80', '2026-01-02']);
  });

  it('replace what is between the markers of a page', () => {
    const page = 'before\n<!-- matrix -->\n\nold\n\n<!-- /matrix -->\nafter\n';
    expect(withTable(page, 'new')).toBe('before\n<!-- matrix -->\n\nnew\n\n<!-- /matrix -->\nafter\n');
    expect(() => withTable('no markers', 'new')).toThrow('<!-- matrix -->');
  });
});

describe('the results of npm run matrix', () => {
  it.each(pages())('are in the table of $page: npm run matrix -- --tables writes it', ({ page, text }) => {
    expect(text).toBe(withTable(text, tableFor(readResults(), page)));
  });

  it('contain no failed test', () => {
    const failed = Object.entries(readResults()).filter(
      ([, result]) => 'failed' in result && result.failed > 0,
    );
    expect(failed).toEqual([]);
  });

  it('contain the version of Node that is developed on', () => {
    const developed = readFileSync(join(root, '.nvmrc'), 'utf8').trim();
    expect(readResults()).toHaveProperty(
      [`node/${developed}`, 'version'],
      expect.stringMatching(`^${developed}\\.`),
    );
  });
});
