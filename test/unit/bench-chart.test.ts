import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { chartOf } from '../../bench/report/chart.mjs';

const candidate = (label: string, median: number, kind = 'peer'): object => ({
  label,
  kind,
  perSecond: { median, min: median, max: median },
});

const rowOf = (...loads: readonly object[]): Parameters<typeof chartOf>[0][number] => ({
  id: 'M4',
  measuredAt: '2026-11-22T05:00:00.000Z',
  machine: { processor: 'P<1>', cores: 2, node: 'v20', redis: '7' },
  data: { loads },
});

const EMPTY = {
  name: 'empty',
  candidates: [
    candidate('peer', 10),
    candidate('peer (tuned)', 40),
    candidate('@a/other', 100),
    candidate('ours', 400, 'ours'),
    candidate('floor', 900, 'floor'),
  ],
};
const WORK = {
  name: '2 ms',
  candidates: [candidate('ours', 10, 'ours'), candidate('peer (tuned)', 8), candidate('@a/other (tuned)', 5)],
};

/** The widths of the bars, in their order. */
const widthsOf = (svg: string): number[] =>
  [...svg.matchAll(/<rect class="(?:ours|peer)"[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width));

describe('the chart of the benchmark', () => {
  it('has bars as long as the figures, from 0, with and without work', () => {
    const widths = widthsOf(chartOf([rowOf(EMPTY, WORK)]));
    const [ours = NaN] = widths;
    expect(widths).toHaveLength(6);
    for (const [index, share] of [1, 0.25, 0.1, 1, 0.5, 0.8].entries())
      expect(widths[index]).toBeCloseTo(ours * share, 0);
  });

  it('shows the better settings of each peer, and how many times as many holds as the nearest of them', () => {
    const svg = chartOf([rowOf(EMPTY, WORK)]);
    expect(svg).toContain('>400 (4 ×)<');
    expect(svg).toContain('>40<');
    expect(svg).not.toContain('>10<');
    expect(svg).not.toContain('floor');
    expect(svg).toContain('>10 (1.25 ×)<');
  });

  it('has a title, a description with all figures, and colours for dark pages', () => {
    const svg = chartOf([rowOf(EMPTY, WORK)]);
    expect(svg).toMatch(/role="img" aria-labelledby="title description"/);
    expect(svg).toContain('Nothing done under the lock, holds per second: ours 400, @a/other 100, peer 40.');
    expect(svg).toContain('2 ms of work under the lock, holds per second: ours 10, peer 8, @a/other 5.');
    expect(svg).toContain('@media (prefers-color-scheme: dark)');
    expect(svg).toContain('P&lt;1&gt;');
  });

  it('is refused without its row or one of its loads', () => {
    expect(() => chartOf([])).toThrow('The chart shows M4, which has not been measured.');
    expect(() => chartOf([rowOf(EMPTY)])).toThrow('M4 has no load "2 ms".');
  });

  it('in the documentation is that of the results, with five peers', () => {
    const root = join(import.meta.dirname, '../..');
    const { rows } = JSON.parse(readFileSync(join(root, 'bench/results/results.json'), 'utf8')) as {
      rows: Parameters<typeof chartOf>[0];
    };
    const svg = readFileSync(join(root, 'docs/introduction/performance-chart.svg'), 'utf8');
    expect(svg).toBe(chartOf(rows));
    expect(widthsOf(svg)).toHaveLength(2 * 6);
  });
});
