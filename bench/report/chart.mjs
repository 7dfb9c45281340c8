import { short, times } from './numbers.mjs';

const COLOURS = { ours: '#1a7f37', floor: '#6e7781', ideal: '#bf8700', readme: '#0969da', tuned: '#80b8f5' };
const LEGEND = [
  ['ours', 'nestjs-distributed-lock'],
  ['floor', 'floor: what Redis needs (SET NX PX + EVALSHA)'],
  ['readme', 'peer with the settings of its README'],
  ['tuned', 'peer tuned in its favour'],
  ['ideal', 'the same work without a lock'],
];
const WIDTH = 1_080;
const LABELS = 250;
const FIGURES = 330;
const BAR = 16;
const LINE = 22;
const PLOT = WIDTH - LABELS - FIGURES;

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const text = (x, y, content, attributes = '') =>
  `<text x="${x}" y="${y}" ${attributes}>${escape(content)}</text>`;

/** M5 is about the growth with the number of callers, which bars do not show. */
const WITHOUT_BARS = ['M5'];

/** One panel per load. */
function panelsOf(rows) {
  return rows
    .filter(({ id }) => !WITHOUT_BARS.includes(id))
    .flatMap(({ id, title, data }) =>
      (data.loads ?? []).map(({ name, candidates }) => [
        `${id}  ${[title, name].filter(Boolean).join(' · ')}`,
        candidates,
      ]),
    );
}

/**
 * Holds per second of all candidates, on logarithmic scales. Readable on light and dark pages.
 *
 * @param {{ id: string, title: string, data: any, machine: any, measuredAt: string }[]} rows
 * @returns {string} SVG
 */
export function chartOf(rows) {
  const parts = [
    text(
      20,
      34,
      'Holds per second (logarithmic scales; the thin line is the range of all rounds)',
      'font-size="17" font-weight="600"',
    ),
    ...LEGEND.map(([kind, label], index) => legendEntry(kind, label, index)),
  ];
  let y = 120;
  for (const [title, candidates] of panelsOf(rows)) {
    const panel = panelOf(title, candidates, y);
    parts.push(panel.svg);
    y += panel.height;
  }
  const source = rows.find(({ id }) => id === 'M1') ?? rows[0];
  if (source) {
    const { processor, cores, node, redis, ioredis } = source.machine;
    const where = `${processor}, ${cores} cores · Node ${node} · Redis ${redis} · ioredis ${ioredis} · ${source.measuredAt.slice(0, 10)}`;
    parts.push(text(20, y + 4, where, 'font-size="12" fill="#57606a"'));
  }
  const height = y + 24;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">
<title>Holds per second of nestjs-distributed-lock and others</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`;
}

function legendEntry(kind, label, index) {
  const [x, y] = [20 + (index % 2) * 330, 50 + Math.floor(index / 2) * 20];
  return `<rect x="${x}" y="${y}" width="12" height="12" fill="${COLOURS[kind]}"/>${text(x + 18, y + 11, label)}`;
}

function panelOf(title, candidates, top) {
  const values = candidates
    .flatMap(({ perSecond: { min, median, max } }) => [min, median, max])
    .filter((value) => value > 0);
  const [low, high] = scaleOf(values);
  const at = (value) => {
    const share = (Math.log10(Math.max(value, low)) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
    return LABELS + Math.min(share, 1) * PLOT;
  };
  const [ours] = candidates.filter(({ kind }) => kind === 'ours');
  const height = candidates.length * LINE;
  const ticks = ticksOf(low, high).map(
    (value) =>
      `<line x1="${at(value)}" x2="${at(value)}" y1="${top + 14}" y2="${top + 18 + height}" stroke="#d0d7de"/>` +
      text(at(value), top + 32 + height, short(value), 'font-size="11" fill="#57606a" text-anchor="middle"'),
  );
  const bars = candidates.map((candidate, index) => barOf(candidate, ours, at, top + 18 + index * LINE));
  return {
    svg: [text(20, top + 6, title, 'font-size="14" font-weight="600"'), ...ticks, ...bars].join('\n'),
    height: height + 62,
  };
}

/** Limits of the scale in steps of 1, 2, 5. The shortest bar keeps a visible length. */
function scaleOf(values) {
  const steps = [1, 2, 5].flatMap((digit) => Array.from({ length: 8 }, (_, power) => digit * 10 ** power));
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const low = Math.max(1, ...steps.filter((step) => step <= least * 0.8));
  const high = Math.min(...steps.filter((step) => step >= most));
  return [low, high];
}

function ticksOf(low, high) {
  const powers = Array.from({ length: 8 }, (_, power) => 10 ** power);
  const wide = high / low > 200;
  const digits = wide ? [1] : [1, 2, 5];
  return powers
    .flatMap((power) => digits.map((digit) => digit * power))
    .filter((value) => value >= low && value <= high)
    .concat(wide && ![1, 10, 100, 1_000, 10_000, 100_000].includes(low) ? [low] : []);
}

function barOf({ label, kind, variant, perSecond, failed, turns }, ours, at, y) {
  const colour = kind === 'peer' ? COLOURS[variant] : COLOURS[kind];
  const middle = y + BAR / 2;
  const baseline = middle + 4;
  const { median, min, max } = perSecond;
  const compared = kind === 'ours' ? '' : `ours ${times(ours.perSecond.median / median)}`;
  const notes = [
    failed > 0 ? `${short(failed)} failed` : '',
    turns.withoutAny > 0 ? `${turns.withoutAny} callers unserved` : '',
  ];
  const end = WIDTH - FIGURES + 60;
  const quiet = 'font-size="11" fill="#57606a"';
  return [
    text(LABELS - 8, baseline, label, `text-anchor="end"${kind === 'ours' ? ' font-weight="600"' : ''}`),
    `<rect x="${LABELS}" y="${y}" width="${Math.max(1, at(median) - LABELS)}" height="${BAR}" fill="${colour}"/>`,
    `<line x1="${at(min)}" x2="${at(max)}" y1="${middle}" y2="${middle}" stroke="#1f2328" stroke-width="1.5"/>`,
    text(end, baseline, short(median), 'font-size="12" text-anchor="end"'),
    text(end + 10, baseline, compared, quiet),
    text(end + 85, baseline, notes.filter(Boolean).join(', '), quiet),
  ].join('');
}
