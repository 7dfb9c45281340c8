import { short, times } from './numbers.mjs';
import { markdownTable, NOTHING_YET } from './page.mjs';

/** The loads that the page compares, as users know them. */
const SITUATIONS = [
  { what: 'free locks, one caller', row: 'M1', load: '' },
  { what: 'free locks, one caller, Redis 1 ms away', row: 'M1', load: '1 ms each way' },
  { what: 'free locks, 200 callers', row: 'M2', load: '' },
  { what: 'one key, 100 callers of one process', row: 'M3', load: '' },
  { what: 'one key, 4 processes × 25 callers', row: 'M4', load: 'empty' },
  { what: 'one key, 4 processes × 25 callers, 2 ms of work', row: 'M4', load: '2 ms' },
];

/** Loads of locks that several callers may hold, without work under the lock and with it. */
const SHARED = [
  { what: '100 readers of one process', row: 'M12', loads: ['one process, empty', 'one process, 2 ms'] },
  {
    what: 'a semaphore of 10, 100 callers of one process',
    row: 'M13',
    loads: ['one process, empty', 'one process, 2 ms'],
  },
  {
    what: 'a semaphore of 10, 4 processes × 25 callers',
    row: 'M13',
    loads: ['4 processes, empty', '4 processes, 2 ms'],
  },
];

/**
 * The parts of `docs/introduction/performance.md`: ratios to other libraries.
 *
 * @param {readonly import('./page.mjs').MeasuredRow[]} rows
 * @returns {Record<'short' | 'ratios' | 'turns' | 'shared' | 'ahead', string>}
 */
export function performanceParts(rows) {
  return {
    short: shortOf(rows),
    ratios: ratiosOf(rows),
    turns: turnsTable(rows),
    shared: sharedTable(rows),
    ahead: aheadOf(rows),
  };
}

function candidatesIn(rows, { row, load }) {
  const loads = rows.find(({ id }) => id === row)?.data?.loads ?? [];
  return loads.find(({ name }) => name === load)?.candidates;
}

const perSecond = (candidate) => candidate.perSecond.median;

function best(candidates) {
  return candidates.reduce((one, other) => (perSecond(other) > perSecond(one) ? other : one));
}

const oursIn = (candidates) => candidates.find(({ kind }) => kind === 'ours');

const nameOf = ({ label }) => label.replace(/ \(tuned\)$/, '');

/** The better of both settings of each library. */
function peersIn(candidates) {
  const peers = candidates.filter(({ kind }) => kind === 'peer');
  return new Map(
    [...new Set(peers.map(nameOf))].map((name) => [
      name,
      best(peers.filter((peer) => nameOf(peer) === name)),
    ]),
  );
}

/** The ratio to the best of the other libraries. */
function overBest(candidates) {
  return perSecond(oursIn(candidates)) / Math.max(...[...peersIn(candidates).values()].map(perSecond));
}

function shortOf(rows) {
  const [empty, work] = ['empty', '2 ms'].map((load) => candidatesIn(rows, { row: 'M4', load }));
  if (empty === undefined || work === undefined) return NOTHING_YET;
  return (
    `With 4 processes × 25 callers on one key, this library has ${overBest(empty).toFixed(0)} times the holds per second of the ` +
    `nearest other library while the work under the lock is empty, and ${overBest(work).toFixed(1)} times with 2 ms of work.`
  );
}

function ratiosOf(rows) {
  const measured = SITUATIONS.flatMap((situation) => {
    const candidates = candidatesIn(rows, situation);
    return candidates === undefined ? [] : [{ ...situation, candidates, peers: peersIn(candidates) }];
  });
  if (measured.length === 0) return NOTHING_YET;
  const names = [...new Set(measured.flatMap(({ peers }) => [...peers.keys()]))];
  const lines = measured.map(({ what, candidates, peers }) => [
    what,
    ...names.map((name) => {
      const peer = peers.get(name);
      return peer === undefined ? '' : times(perSecond(oursIn(candidates)) / perSecond(peer));
    }),
  ]);
  return markdownTable(['', ...names.map((name) => `\`${name}\``)], lines);
}

/** How evenly callers are served, which holds per second do not show. */
function turnsTable(rows) {
  const candidates = candidatesIn(rows, { row: 'M4', load: '2 ms' });
  if (candidates === undefined) return NOTHING_YET;
  const lines = [oursIn(candidates), ...peersIn(candidates).values()].map((candidate) => [
    `\`${nameOf(candidate)}\``,
    short(perSecond(candidate)),
    turnsOf(candidate),
    short(candidate.commands.scripts + candidate.commands.publish + candidate.commands.others),
  ]);
  return markdownTable(
    ['', 'holds/s', 'turns of the least- and most-served caller', 'Redis commands per hold'],
    lines,
  );
}

/** Against the only other library with locks that several callers may hold. */
function sharedTable(rows) {
  const lines = SHARED.flatMap(({ what, row, loads }) => {
    const measured = loads.map((load) => candidatesIn(rows, { row, load }));
    if (measured.includes(undefined)) return [];
    return [[what, ...measured.map((candidates) => times(overBest(candidates)))]];
  });
  return lines.length === 0 ? NOTHING_YET : markdownTable(['', 'empty', '2 ms of work'], lines);
}

/** Every load in which another library had more holds per second. */
function aheadOf(rows) {
  const lines = rows.flatMap(({ id, data }) => (data?.loads ?? []).flatMap((load) => aheadIn(id, load)));
  return lines.length === 0 ? 'No other library had more holds per second in any row.' : lines.join('\n');
}

/** Names the best of the peers that are ahead. */
function aheadIn(id, { name, plan, candidates }) {
  const peers = candidates.filter(({ kind }) => kind === 'peer').sort((a, b) => perSecond(b) - perSecond(a));
  return candidates
    .filter(({ kind }) => kind === 'ours')
    .flatMap((mine) => {
      const [first, ...more] = peers.filter((peer) => perSecond(peer) > perSecond(mine));
      if (first === undefined) return [];
      const where = [`**${id}**`, name].filter(Boolean).join(', ');
      const by = times(perSecond(first) / perSecond(mine));
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      // Without contention, turns say nothing about fairness.
      const turns = plan.keysPerCaller === null ? `; turns ${turnsOf(first)} against ${turnsOf(mine)}` : '';
      return [`- ${where}, ${mine.label}: ${first.label} ${by}${others}${turns}.`];
    });
}

function turnsOf({ turns: { least, most } }) {
  return least === most ? short(most) : `${short(least)}–${short(most)}`;
}
