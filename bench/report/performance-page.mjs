import { short, times } from './numbers.mjs';
import { markdownTable } from './page.mjs';
import { ENGLISH } from './performance-words.mjs';

/**
 * The loads that the page compares. `what` is their name in `performance-words.mjs`. `withLock` does not await its release,
 * as all other libraries do: where that decides, the same load follows with a release that is awaited.
 */
const SITUATIONS = [
  { what: 'free', row: 'M1', load: '' },
  { what: 'freeAwaited', row: 'M1', load: '', isAwaited: true },
  { what: 'far', row: 'M1', load: '1 ms each way' },
  { what: 'farAwaited', row: 'M1', load: '1 ms each way', isAwaited: true },
  { what: 'callers', row: 'M2', load: '' },
  { what: 'key', row: 'M3', load: '' },
  { what: 'processes', row: 'M4', load: 'empty' },
  { what: 'work', row: 'M4', load: '2 ms' },
];

/** Loads of locks that several callers may hold, without work under the lock and with it. */
const SHARED = [
  { what: 'readers', row: 'M12', loads: ['one process, empty', 'one process, 2 ms'] },
  { what: 'semaphore', row: 'M13', loads: ['one process, empty', 'one process, 2 ms'] },
  { what: 'semaphores', row: 'M13', loads: ['4 processes, empty', '4 processes, 2 ms'] },
];

/**
 * The parts of `docs/introduction/performance.md`, and of that page in another language: ratios to other libraries.
 *
 * @param {readonly import('./page.mjs').MeasuredRow[]} rows
 * @param {typeof ENGLISH} [words] of the language
 * @returns {Record<'short' | 'ratios' | 'turns' | 'shared' | 'ahead', string>}
 */
export function performanceParts(rows, words = ENGLISH) {
  return {
    short: shortOf(rows, words),
    ratios: ratiosOf(rows, words),
    turns: turnsTable(rows, words),
    shared: sharedTable(rows, words),
    ahead: aheadOf(rows, words),
  };
}

function candidatesIn(rows, { row, load }) {
  const { loads } = rows.find(({ id }) => id === row);
  return loads.find(({ name }) => name === load).candidates;
}

export const perSecond = (candidate) => candidate.perSecond.median;

function best(candidates) {
  return candidates.reduce((one, other) => (perSecond(other) > perSecond(one) ? other : one));
}

const isAwaitedIn = ({ label }) => label.endsWith('release() awaited');

export const oursIn = (candidates, isAwaited = false) =>
  candidates.find((candidate) => candidate.kind === 'ours' && isAwaitedIn(candidate) === isAwaited);

export const nameOf = ({ label }) => label.replace(/ \(tuned\)$/, '');

/** The better of both settings of each library, so that none is shown below what it can do. */
export function peersIn(candidates) {
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

function shortOf(rows, words) {
  const [empty, work] = ['empty', '2 ms'].map((load) => candidatesIn(rows, { row: 'M4', load }));
  return words.short(overBest(empty).toFixed(0), overBest(work).toFixed(2));
}

function ratiosOf(rows, words) {
  const measured = SITUATIONS.map((situation) => {
    const candidates = candidatesIn(rows, situation);
    return { ...situation, candidates, peers: peersIn(candidates) };
  });
  const names = [...new Set(measured.flatMap(({ peers }) => [...peers.keys()]))];
  const lines = measured.map(({ what, isAwaited, candidates, peers }) => [
    words.loads[what],
    ...names.map((name) => {
      const peer = peers.get(name);
      return peer === undefined ? '' : times(perSecond(oursIn(candidates, isAwaited)) / perSecond(peer));
    }),
  ]);
  return markdownTable(['', ...names.map((name) => `\`${name}\``)], lines);
}

/** How evenly callers are served, which holds per second do not show. */
function turnsTable(rows, words) {
  const candidates = candidatesIn(rows, { row: 'M4', load: '2 ms' });
  const lines = [oursIn(candidates), ...peersIn(candidates).values()].map((candidate) => [
    `\`${nameOf(candidate)}\``,
    short(perSecond(candidate)),
    turnsOf(candidate),
    short(candidate.commands.scripts + candidate.commands.publish + candidate.commands.others),
  ]);
  return markdownTable(['', ...words.turns], lines);
}

/** Against the only other library with locks that several callers may hold. */
function sharedTable(rows, words) {
  const lines = SHARED.map(({ what, row, loads }) => [
    words.loads[what],
    ...loads.map((load) => times(overBest(candidatesIn(rows, { row, load })))),
  ]);
  return markdownTable(['', ...words.shared], lines);
}

/** Every load in which another library had more holds per second. */
function aheadOf(rows, words) {
  const lines = rows.flatMap(({ id, loads = [] }) => loads.flatMap((load) => aheadIn(id, load, words)));
  return lines.length === 0 ? words.nobodyAhead : lines.join('\n');
}

/** Names the best of the peers that are ahead. */
function aheadIn(id, { name, plan, candidates }, words) {
  const peers = candidates.filter(({ kind }) => kind === 'peer').sort((a, b) => perSecond(b) - perSecond(a));
  return candidates
    .filter(({ kind }) => kind === 'ours')
    .flatMap((mine) => {
      const [first, ...more] = peers.filter((peer) => perSecond(peer) > perSecond(mine));
      if (first === undefined) return [];
      // Without contention, turns say nothing about fairness.
      const turns = plan.keysPerCaller === null ? [turnsOf(first), turnsOf(mine)] : undefined;
      const by = times(perSecond(first) / perSecond(mine));
      const load = loadOf(id, name, mine, words) ?? [id, name, mine.label].filter(Boolean).join(', ');
      return [words.ahead({ load, other: first.label, by, more: more.length, turns })];
    });
}

function loadOf(id, name, mine, words) {
  const situation = SITUATIONS.find(
    ({ row, load, isAwaited = false }) => row === id && load === name && isAwaited === isAwaitedIn(mine),
  );
  return situation && words.loads[situation.what];
}

function turnsOf({ turns: { least, most } }) {
  return least === most ? short(most) : `${short(least)}–${short(most)}`;
}
