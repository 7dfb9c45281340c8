import { describe, expect, it } from '@jest/globals';
import { atLeast, information } from '../../bench/report/checks.mjs';
import { pageWith, type MeasuredRow } from '../../bench/report/page.mjs';

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
  it('gets its figures from the results, and again without growing', () => {
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

  it('names the best of those ahead, with the turns of both', () => {
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

  it('says nothing of turns where nobody else wants the lock', () => {
    const page = pageWith(PAGE, [row('M1', [candidate('ours', 'ours', 10), candidate('peer', 'one', 15)])]);
    expect(page).toContain('- **M1**, empty, ours: one 1.50 ×.');
  });

  it('is refused without the marks for a part', () => {
    expect(() => pageWith('# Page\n', [])).toThrow('The page has no <!-- machine --> … <!-- /machine -->.');
  });
});
