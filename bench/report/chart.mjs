import { short, times } from './numbers.mjs';
import { nameOf, oursIn, peersIn, perSecond } from './performance-page.mjs';

/** The row of the chart: several processes want one lock. */
const ROW = 'M4';
/** The panels, from left to right: the name of a load, and what its title says. */
const PANELS = [
  ['empty', 'Nothing done under the lock'],
  ['2 ms', '2 ms of work under the lock'],
];
const WIDTH = 960;
const MARGIN = 24;
const LABELS = 196;
/** Room for the figure beside a bar. */
const FIGURE = 124;
const GAP = 20;
const BAR = 20;
const LINE = 32;
const TOP = 98;
const PLOT = (WIDTH - 2 * MARGIN - LABELS - GAP) / PANELS.length - FIGURE;

/** The chart follows the mode of the page or of the system: an `img` has no access to the styles of its page. */
const STYLE = `text { fill: #1f2328; } .quiet { fill: #59636e; } .strong { font-weight: 600; }
.ours { fill: #1a7f37; } .peer { fill: #8c959f; } .axis { stroke: #d1d9e0; } .ground { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .quiet { fill: #9198a1; }
  .ours { fill: #3fb950; } .peer { fill: #6e7681; } .axis { stroke: #3d444d; } .ground { fill: #0d1117; }
}`;

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const text = (x, y, content, attributes = '') =>
  `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escape(content)}</text>`;

const round = (length) => Math.round(length * 10) / 10;

/**
 * The median of each library with a load, ours first, then from most to least.
 *
 * @returns {Map<string, { kind: string, perSecond: number }>} by library
 */
function bestOf({ candidates }) {
  const peers = [...peersIn(candidates).values()].sort((one, other) => perSecond(other) - perSecond(one));
  const figures = (each) => [nameOf(each), { kind: each.kind, perSecond: perSecond(each) }];
  return new Map([oursIn(candidates), ...peers].map(figures));
}

/** Holds per second with an empty section and with work, on linear scales that begin at 0. Readable on light and dark pages. */
export function chartOf(rows) {
  const row = rows.find(({ id }) => id === ROW);
  const panels = PANELS.map(([name, title]) => ({
    title,
    best: bestOf(row.loads.find((each) => each.name === name)),
  }));
  const libraries = [...panels[0].best.keys()];
  const bottom = TOP + libraries.length * LINE;
  const height = bottom + 44;
  const { processor, cores, node, redis } = row.machine;
  const source = `4 processes × 25 callers, medians; the better of each peer's two settings. ${processor}, ${cores} cores, Node ${node}, Redis ${redis}, ${row.measuredAt.slice(0, 10)}`;
  const parts = [
    text(
      MARGIN,
      36,
      'Holds per second of one lock that 100 callers in four processes want',
      'class="strong" font-size="18"',
    ),
    ...libraries.map((library, index) =>
      text(
        MARGIN + LABELS - 12,
        TOP + index * LINE + BAR / 2 + 5,
        library,
        `text-anchor="end"${panels[0].best.get(library).kind === 'ours' ? ' class="strong"' : ''}`,
      ),
    ),
    ...panels.map(({ title, best }, index) =>
      panelOf(title, libraries, best, MARGIN + LABELS + index * (PLOT + FIGURE + GAP), bottom),
    ),
    text(MARGIN, bottom + 24, source, 'class="quiet" font-size="12"'),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title description" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14">
<title id="title">Holds per second of nestjs-distributed-lock and five other libraries</title>
<desc id="description">${escape(panels.map(descriptionOf).join(' '))}</desc>
<style>${STYLE}</style>
<rect class="ground" width="100%" height="100%" rx="6"/>
${parts.join('\n')}
</svg>
`;
}

/** What the bars say, for those who do not see them. */
function descriptionOf({ title, best }) {
  const figures = [...best].map(([library, { perSecond }]) => `${library} ${short(perSecond)}`);
  return `${title}, holds per second: ${figures.join(', ')}.`;
}

function panelOf(title, libraries, best, left, bottom) {
  const most = Math.max(...[...best.values()].map(({ perSecond }) => perSecond));
  // Ours is the first one, then the peers from most to least.
  const [ours, nearest] = [...best.values()].map(({ perSecond }) => perSecond);
  const bars = libraries.map((library, index) => {
    const { kind, perSecond } = best.get(library);
    const y = TOP + index * LINE;
    const width = Math.max(1, (perSecond / most) * PLOT);
    const ratio = kind === 'ours' ? ` (${times(ours / nearest)})` : '';
    return (
      `<rect class="${kind}" x="${round(left)}" y="${y}" width="${round(width)}" height="${BAR}" rx="2"/>` +
      text(
        left + width + 8,
        y + BAR / 2 + 5,
        `${short(perSecond)}${ratio}`,
        kind === 'ours' ? 'class="strong"' : '',
      )
    );
  });
  return [
    text(left, TOP - 20, title, 'font-size="15"'),
    `<line class="axis" x1="${round(left)}" x2="${round(left)}" y1="${TOP - 8}" y2="${bottom - 4}"/>`,
    ...bars,
  ].join('\n');
}
