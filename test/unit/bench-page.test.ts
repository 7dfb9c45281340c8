import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { atLeast, information } from '../../bench/report/checks.mjs';
import { pageWith, type MeasuredRow } from '../../bench/report/page.mjs';

interface MeasuredLoad {
  readonly name: string;
  readonly candidates: readonly { readonly kind: string; readonly perSecond: { readonly median: number } }[];
}

const PAGE = `# Page

<!-- machine -->
<!-- /machine -->

Text.

<!-- figures -->
figures of before
<!-- /figures -->

<!-- ahead -->
<!-- /ahead -->

End.
`;

const candidate = (kind: string, label: string, perSecond: number, least = 1, most = 2): object => ({
  kind,
  label,
  perSecond: { median: perSecond, min: perSecond, max: perSecond },
  turns: { least, most },
});

const row = (id: string, candidates: readonly object[]): MeasuredRow => ({
  id,
  title: `title of ${id}`,
  checks: [atLeast('÷ floor', 1.5, 1.3), information('PING', '2.1 ms')],
  measuredAt: '2026-11-22T05:00:00.000Z',
  commit: 'abc',
  machine: { processor: 'P', cores: 2, memoryGiB: 4, system: 'S', node: 'v20', redis: '7', ioredis: '6' },
  data: { loads: [{ name: 'empty', plan: { keysPerCaller: id === 'M1' ? 1_000 : null }, candidates }] },
});

describe('the page of the benchmark', () => {
  it('gets its figures from the results, and a second run changes nothing', () => {
    const rows = [row('M1', [candidate('ours', 'ours', 10), candidate('peer', 'theirs', 5)])];
    const page = pageWith(PAGE, rows);
    expect(page).toContain('P, 2 cores, 4 GiB, S, Node v20, Redis 7, ioredis 6; 2026-11-22, commit `abc`.');
    expect(page).toContain('| **M1** title of M1 |  |  |  |');
    expect(page).toContain('| ÷ floor | 1.50 | ≥ 1.30 | reached |');
    expect(page).toContain('| PING | 2.1 ms |  |  |');
    expect(page).not.toContain('figures of before');
    expect(page).toContain('In none of these rows another library had more holds.');
    expect(pageWith(page, rows)).toBe(page);
  });

  it('names the best of the libraries ahead, with the turns of both', () => {
    const page = pageWith(PAGE, [
      row('M13', [
        candidate('ours', 'ours', 10, 90, 97),
        candidate('peer', 'one', 11, 5, 200),
        candidate('peer', 'two', 20, 0, 300),
        candidate('peer', 'three', 9),
        candidate('floor', 'floor', 99),
      ]),
    ]);
    expect(page).toContain('- **M13**, empty, ours: two 2 × and 1 more; turns 0–300 against 90–97.');
  });

  it('mentions no turns for a lock without contention', () => {
    const page = pageWith(PAGE, [row('M1', [candidate('ours', 'ours', 10), candidate('peer', 'one', 15)])]);
    expect(page).toContain('- **M1**, empty, ours: one 1.50 ×.');
  });

  it('has the ratio to the best peer with an empty section and with 2 ms of work, as the README', () => {
    const root = join(import.meta.dirname, '../..');
    const { rows } = JSON.parse(readFileSync(join(root, 'bench/results/results.json'), 'utf8')) as {
      rows: (MeasuredRow & { data: { loads: MeasuredLoad[] } })[];
    };
    const loads = rows.find(({ id }) => id === 'M4')?.data.loads ?? [];
    const ratios = ['empty', '2 ms'].map((name) => {
      const candidates = loads.find((load) => load.name === name)?.candidates ?? [];
      const best = (wanted: string) =>
        Math.max(...candidates.flatMap(({ kind, perSecond }) => (kind === wanted ? perSecond.median : [])));
      return best('ours') / best('peer');
    });
    const [empty = NaN, working = NaN] = ratios;
    const performance = readFileSync(join(root, 'docs/introduction/performance.md'), 'utf8');
    expect(performance).toMatch(new RegExp(`\\| empty: ÷ best peer, [^|]+\\| +${empty.toFixed(1)} × \\|`));
    expect(performance).toMatch(new RegExp(`\\| 2 ms: ÷ best peer, [^|]+\\| +${working.toFixed(2)} × \\|`));
    const said = [`${empty.toFixed(0)} times`, `${working.toFixed(1)} times with 2 ms of work`];
    for (const text of [performance, readFileSync(join(root, 'README.md'), 'utf8')]) {
      for (const words of said) expect(text).toContain(words);
    }
  });

  it('is rejected without the markers of a part', () => {
    expect(() => pageWith('# Page\n', [])).toThrow('The page has no <!-- machine --> … <!-- /machine -->.');
  });
});
