import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { short } from '../../../bench/report/numbers.mjs';
import { performanceParts } from '../../../bench/report/performance-page.mjs';
import { CHINESE } from '../../../bench/report/performance-words.mjs';
import { resultsParts } from '../../../bench/report/results-page.mjs';
import { readResults, shownResults } from '../../../bench/report/results.mjs';
import { scalingParts } from '../../../bench/report/scaling-page.mjs';
import type { FailoverFigures } from '../../figures/failover-figures.js';
import type { Spread } from '../../figures/spread.js';

interface RedisFailovers {
  readonly promoted: Spread;
  readonly settings: readonly FailoverFigures[];
}

const root = join(import.meta.dirname, '../../..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Cells of tables without the blanks that align them. */
const compact = (text: string): string => text.replace(/ *\| */g, '|');

const { rows, fleets } = shownResults();

describe('the pages of this repository', () => {
  it('show the results of the last measurement', () => {
    for (const [path, parts] of [
      ['docs/introduction/performance.md', performanceParts(rows)],
      ['docs/zh/introduction/performance.md', performanceParts(rows, CHINESE)],
      ['bench/RESULTS.md', resultsParts(rows, fleets)],
      ['docs/operations/scaling.md', scalingParts(fleets)],
    ] as const) {
      const page = compact(textOf(path));
      for (const part of Object.values(parts)) {
        const body = compact(part).split('\n');
        // The formatter widens the lines of dashes.
        for (const line of body.filter((text) => !text.includes('--'))) expect(page).toContain(line);
      }
    }
  });

  it('have the same ratios to the best peer, with an empty section and with 2 ms of work, in the README', () => {
    const [, empty = '?', working = '?'] =
      /has (\d+) times.* and ([\d.]+) times/.exec(performanceParts(rows).short) ?? [];
    expect(textOf('README.md')).toContain(`${empty} times`);
    expect(textOf('README.md')).toContain(`${working} times with 2 ms of work`);
    expect(textOf('README.zh-CN.md')).toContain(`${empty} 倍`);
    expect(textOf('README.zh-CN.md')).toContain(`${working} 倍`);
  });

  it('show what failovers did to locks, with the releases whose outcome stayed unknown', () => {
    const page = compact(textOf('docs/operations/scaling.md'));
    const spread = ({ median, longest }: Spread): string => `${short(median)} – ${short(longest)}`;
    const cellsOf = (figures: FailoverFigures): string[] => [
      String(short(figures.grants)),
      String(short(figures.heldAtKill)),
      String(figures.lost + figures.expiredAtRelease),
      String(short(figures.unknownAtRelease)),
      String(figures.doubledFenced + figures.doubledUnfenced),
    ];
    for (const store of ['etcd', 'postgres', 'zookeeper']) {
      const figures = readResults(store).failovers as FailoverFigures;
      const times = [spread(figures.firstGrant), spread(figures.grantOfEachKey)];
      expect(page).toContain(`|${[...times, ...cellsOf(figures)].join('|')}|`);
    }
    const { sentinel, cluster } = readResults('redis').failovers as Record<string, RedisFailovers>;
    for (const { promoted, settings } of [sentinel!, cluster!]) {
      for (const figures of settings) {
        const cells = [spread(promoted), spread(figures.firstGrant), ...cellsOf(figures)];
        expect(page).toContain(`|${cells.join('|')}|${String(figures.doubledUnfenced)}|`);
      }
    }
  });
});
