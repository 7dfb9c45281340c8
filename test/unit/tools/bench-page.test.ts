import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { atLeast, information } from '../../../bench/report/checks.mjs';
import { short } from '../../../bench/report/numbers.mjs';
import { pageWith, type MeasuredRow } from '../../../bench/report/page.mjs';
import { performanceParts } from '../../../bench/report/performance-page.mjs';
import { CHINESE, ENGLISH } from '../../../bench/report/performance-words.mjs';
import { resultsParts } from '../../../bench/report/results-page.mjs';
import { scalingParts, type MeasuredFleets } from '../../../bench/report/scaling-page.mjs';

interface MeasuredLoad {
  readonly name: string;
  readonly candidates: readonly { readonly kind: string; readonly perSecond: { readonly median: number } }[];
}

interface Spread {
  readonly median: number;
  readonly longest: number;
}

/** What a row of a table of failovers shows. */
type FailoverFigures = Readonly<Record<'firstGrant' | 'grantOfEachKey', Spread>> &
  Readonly<
    Record<
      | 'grants'
      | 'heldAtKill'
      | 'lost'
      | 'expiredAtRelease'
      | 'unknownAtRelease'
      | 'doubledFenced'
      | 'doubledUnfenced',
      number
    >
  >;

interface Turns {
  readonly least: number;
  readonly most: number;
}

const root = join(import.meta.dirname, '../../..');
const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Cells of tables without the blanks that align them. */
const compact = (text: string): string => text.replace(/ *\| */g, '|');

const candidate = (
  kind: string,
  label: string,
  perSecond: number,
  turns: Turns = { least: 1, most: 2 },
): object => ({
  kind,
  label,
  perSecond: { median: perSecond, min: perSecond, max: perSecond },
  turns,
  commands: { scripts: 2, publish: 0, others: 3 },
});

const row = (id: string, candidates: readonly object[], loads = ['empty']): MeasuredRow => ({
  id,
  title: `title of ${id}`,
  checks: [atLeast('÷ floor', 1.5, 1.3), information('PING', '2.1 ms')],
  measuredAt: '2026-11-22T05:00:00.000Z',
  commit: 'abc',
  machine: { processor: 'P', cores: 2, memoryGiB: 4, system: 'S', node: 'v20', redis: '7', ioredis: '6' },
  data: {
    loads: loads.map((name) => ({ name, plan: { keysPerCaller: id === 'M1' ? 1_000 : null }, candidates })),
  },
});

const results = JSON.parse(textOf('bench/results/results.json')) as { rows: MeasuredRow[] };

describe('a page with results', () => {
  it('has each part between its markers, and a second run changes nothing', () => {
    const page = '# Page\n\n<!-- one -->\nbefore\n<!-- /one -->\n\nText.\n';
    const written = pageWith(page, { one: 'now' });
    expect(written).toBe('# Page\n\n<!-- one -->\n\nnow\n\n<!-- /one -->\n\nText.\n');
    expect(pageWith(written, { one: 'now' })).toBe(written);
  });

  it('is rejected without the markers of a part', () => {
    expect(() => pageWith('# Page\n', { one: '' })).toThrow('The page has no <!-- one --> … <!-- /one -->.');
  });
});

describe('bench/RESULTS.md', () => {
  it('has every figure with its goal, and the machine', () => {
    const { machine, figures, fleets } = resultsParts([row('M1', [candidate('ours', 'ours', 10)])], {});
    expect(machine).toBe('P, 2 cores, 4 GiB, S, Node v20, Redis 7, ioredis 6; 2026-11-22, commit `abc`.');
    expect(figures).toContain('| **M1** title of M1 |  |  |  |');
    expect(figures).toContain('| ÷ floor | 1.50 | ≥ 1.30 | reached |');
    expect(figures).toContain('| PING | 2.1 ms |  |  |');
    expect(fleets).toBe('Nothing has been measured yet.');
  });

  it('has the fleets of each store', () => {
    const { fleets } = resultsParts([], { etcd: { ...row('M16', []), scale: {} } });
    expect(fleets).toContain('| **M16** title of M16, on etcd |  |  |  |');
  });
});

describe('the performance page', () => {
  it('compares with the better settings of each library', () => {
    const { ratios } = performanceParts(
      [
        row('M2', [
          candidate('ours', 'ours', 30),
          candidate('peer', 'one', 10),
          candidate('peer', 'one (tuned)', 20),
          candidate('peer', 'two', 60),
        ]),
      ].map((one) => ({
        ...one,
        data: { loads: [{ ...(one.data as { loads: object[] }).loads[0], name: '' }] },
      })),
    );
    expect(ratios).toBe(
      '|  | `one` | `two` |\n| --- | --: | --: |\n| free locks, 200 callers | 1.50 × | 0.50 × |',
    );
  });

  it('says the ratio to the nearest library without work and with work, and how evenly all are served', () => {
    const { short, turns } = performanceParts([
      row(
        'M4',
        [
          candidate('ours', 'ours', 30, { least: 9, most: 10 }),
          candidate('peer', 'one', 20, { least: 0, most: 50 }),
        ],
        ['empty', '2 ms'],
      ),
    ]);
    expect(short).toContain('2 times the holds per second of the nearest other library');
    expect(short).toContain('1.50 times with 2 ms of work');
    expect(turns).toContain('| `ours` | 30 | 9–10 | 5 |\n| `one` | 20 | 0–50 | 5 |');
  });

  it('names the best of the libraries ahead, with the turns of both', () => {
    const { ahead } = performanceParts([
      row('M13', [
        candidate('ours', 'ours', 10, { least: 90, most: 97 }),
        candidate('peer', 'one', 11, { least: 5, most: 200 }),
        candidate('peer', 'two', 20, { least: 0, most: 300 }),
        candidate('peer', 'three', 9),
        candidate('floor', 'floor', 99),
      ]),
    ]);
    expect(ahead).toBe('- **M13**, empty, ours: two 2 × and 1 more setting; turns 0–300 against 90–97.');
  });

  it('mentions no turns for a lock without contention', () => {
    const { ahead } = performanceParts([
      row('M1', [candidate('ours', 'ours', 10), candidate('peer', 'one', 15)]),
    ]);
    expect(ahead).toBe('- **M1**, empty, ours: one 1.50 ×.');
  });

  it('has a name for every load in each language', () => {
    for (const words of [ENGLISH, CHINESE]) {
      const parts = performanceParts(results.rows, words);
      expect(Object.values(parts).join('')).not.toContain('undefined');
    }
    expect(Object.keys(CHINESE.loads)).toEqual(Object.keys(ENGLISH.loads));
  });

  it('says so if no library is ahead', () => {
    const { ahead } = performanceParts([
      row('M1', [candidate('ours', 'ours', 10), candidate('peer', 'one', 5)]),
    ]);
    expect(ahead).toBe('No other library had more holds per second in any row.');
  });
});

describe('the scaling page', () => {
  it('has a line for each fleet, and what keys and held locks leave behind', () => {
    const occupied = (heap: number, entries: number): object => ({
      heap: heap * 1e6,
      rss: 80e6,
      store: { entries, bytes: 2_000, connections: 4 },
    });
    const step = { processes: 4, callersEach: 10, perSecond: 1_000, requests: 0.5, turnsTookMs: 1_500 };
    const fleets: Record<string, MeasuredFleets> = {
      postgres: {
        ...row('M16', []),
        machine: { cores: 2, node: 'v24.1.0', postgres: '15.1' },
        scale: {},
        data: {
          growth: {
            steps: ['own keys', '100 keys', 'one key', 'one key, 2 ms'].map((load) => ({ ...step, load })),
            memory: [{ processes: 4, ...occupied(15, 0) }],
          },
          keys: {
            used: 3_000,
            segments: [10, 11, 12].map((client) => ({ perSecond: 9_000, client, server: 1 })),
            before: occupied(15, 1),
            after: occupied(16, 1),
          },
          held: {
            count: 1_000,
            acquireMs: 500,
            lost: 0,
            bytesEach: { process: 3_000, store: 200 },
            renewal: { requests: 2, clientMs: 100, serverMs: 50 },
          },
        },
      },
    };
    const { machine, growth, keys, held } = scalingParts(fleets);
    expect(machine).toBe('2 cores, Node 24.1.0, PostgreSQL 15.1; 2026-11-22.');
    expect(growth).toContain(
      '| 4 × 10 | 1 000, 0.50 | 1 000, 0.50 | 1 000, 0.50 | 1 000, 0.50 | 1.50 | 80 | 4 |',
    );
    expect(keys).toContain('| PostgreSQL | 3 000 | 9 000 | 11 → 13 | 15 → 16 | 1 → 1 | 2 → 2 |');
    expect(held).toContain('| PostgreSQL | 1 000 | 2 000 | 3 | 0.20 | 2 | 1, 0.50 | 0 |');
  });

  it('says so while nothing was measured', () => {
    expect(scalingParts({}).growth).toBe('Nothing has been measured yet.');
  });
});

describe('the pages of this repository', () => {
  it('show the results of the last measurement', () => {
    for (const [path, parts] of [
      ['docs/introduction/performance.md', performanceParts(results.rows)],
      ['docs/zh/introduction/performance.md', performanceParts(results.rows, CHINESE)],
      ['bench/RESULTS.md', resultsParts(results.rows, fleetsMeasured())],
      ['docs/operations/scaling.md', scalingParts(fleetsMeasured())],
    ] as const) {
      const page = compact(textOf(path));
      for (const part of Object.values(parts)) {
        const body = compact(part).split('\n');
        // The formatter widens the lines of dashes.
        for (const line of body.filter((text) => !text.includes('--'))) expect(page).toContain(line);
      }
    }
  });

  it('have the ratio to the best peer with an empty section and with 2 ms of work, as the README', () => {
    const loads = (results.rows.find(({ id }) => id === 'M4')?.data as { loads: MeasuredLoad[] }).loads;
    const ratios = ['empty', '2 ms'].map((name) => {
      const candidates = loads.find((load) => load.name === name)?.candidates ?? [];
      const best = (wanted: string): number =>
        Math.max(...candidates.flatMap(({ kind, perSecond }) => (kind === wanted ? perSecond.median : [])));
      return best('ours') / best('peer');
    });
    const [empty = NaN, working = NaN] = ratios;
    const said = [`${empty.toFixed(0)} times`, `${working.toFixed(2)} times with 2 ms of work`];
    for (const text of [textOf('docs/introduction/performance.md'), textOf('README.md')]) {
      for (const words of said) expect(text).toContain(words);
    }
    for (const text of [textOf('docs/zh/introduction/performance.md'), textOf('README.zh-CN.md')]) {
      expect(text).toContain(`${empty.toFixed(0)} 倍`);
      expect(text).toContain(`${working.toFixed(2)} 倍`);
    }
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
    const { stores } = JSON.parse(textOf('bench/results/stores-failover.json')) as {
      stores: Record<string, FailoverFigures>;
    };
    for (const figures of Object.values(stores)) {
      const times = [spread(figures.firstGrant), spread(figures.grantOfEachKey)];
      expect(page).toContain(`|${[...times, ...cellsOf(figures)].join('|')}|`);
    }
    const { failover } = JSON.parse(textOf('bench/results/topologies.json')) as {
      failover: Record<string, { promoted: Spread; settings: FailoverFigures[] }>;
    };
    for (const { promoted, settings } of Object.values(failover)) {
      for (const figures of settings) {
        const cells = [spread(promoted), spread(figures.firstGrant), ...cellsOf(figures)];
        expect(page).toContain(`|${cells.join('|')}|${String(figures.doubledUnfenced)}|`);
      }
    }
  });

  function fleetsMeasured(): Record<string, MeasuredFleets> {
    return JSON.parse(textOf('bench/results/fleets.json')) as Record<string, MeasuredFleets>;
  }
});
