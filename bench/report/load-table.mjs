import { short, spreadText, times } from './numbers.mjs';
import { bestPeer, only } from '../rows/measure-load.mjs';
import { tableOf } from './table.mjs';

const OF_REDIS = [
  ['scripts/hold', 'scripts'],
  ['publish/hold', 'publish'],
  ['others/hold', 'others'],
];

/**
 * Compares the candidates under one load.
 *
 * @param {{ contended: boolean, limit?: number, costs?: readonly [string, string][] }} options `limit`: the maximum of
 *   holders; `costs`: columns, as pairs of a title and the name of a counter of the server
 */
export function loadTable(measured, { contended, limit = 1, costs = OF_REDIS }) {
  const [floor] = only(measured, 'floor');
  const best = bestPeer(measured);
  const columns = [
    ['', ({ candidate }) => candidate.label],
    ['version', ({ version }) => version],
    ['holds/s', ({ perSecond }) => short(perSecond.median)],
    ['min–max', ({ perSecond }) => spreadText(perSecond)],
    ...(floor ? [['÷ floor', ({ perSecond }) => times(perSecond.median / floor.perSecond.median)]] : []),
    ['÷ best peer', ({ perSecond }) => times(perSecond.median / best.perSecond.median)],
    ['failed', ({ failed }) => short(failed)],
    ...costs.map(([title, name]) => [title, ({ commands }) => short(commands[name])]),
    ...(contended
      ? [
          ['turns min–max', ({ turns }) => `${short(turns.least)}–${short(turns.most)}`],
          ['most ÷ least', ({ turns }) => short(turns.ratio)],
          ['max wait ms', ({ maxWait }) => short(maxWait)],
        ]
      : [
          ['client µs/hold', ({ micros }) => short(micros.client)],
          ['server µs/hold', ({ micros }) => short(micros.server)],
        ]),
    ...(measured.some(({ meanSection }) => meanSection !== null)
      ? [
          ['section ms', ({ meanSection }) => short(meanSection)],
          [
            '÷ ideal',
            ({ meanSection, perSecond }) => short((perSecond.median * meanSection) / 1_000 / limit),
          ],
          ['most at once', ({ mostAtOnce }) => short(mostAtOnce)],
        ]
      : []),
  ];
  return tableOf(columns, measured);
}
