import { markdownTable } from './page.mjs';

/**
 * The parts of `bench/RESULTS.md`: every figure with its goal.
 *
 * @param {readonly import('./page.mjs').MeasuredRow[]} rows
 * @param {Record<string, import('./scaling-page.mjs').MeasuredFleets>} fleets by store
 * @returns {Record<'machine' | 'figures' | 'fleets', string>}
 */
export function resultsParts(rows, fleets) {
  const fleetRows = Object.entries(fleets).map(([store, row]) => ({
    ...row,
    title: `${row.title}, on ${store}`,
  }));
  return { machine: machineOf(rows), figures: figuresOf(rows), fleets: figuresOf(fleetRows) };
}

function machineOf(rows) {
  const { machine } = rows[0];
  const days = rows.map(({ measuredAt }) => measuredAt.slice(0, 10)).sort();
  const [first, last] = [days[0], days.at(-1)];
  const commits = [...new Set(rows.map(({ commit }) => commit))].map(
    (commit) => `\`${commit ?? 'unknown'}\``,
  );
  return (
    `${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.system}, Node ${machine.node}, ` +
    `Redis ${machine.redis}, ioredis ${machine.ioredis}; ${first === last ? first : `${first} to ${last}`}, ` +
    `${commits.length === 1 ? 'commit' : 'commits'} ${commits.join(', ')}.`
  );
}

function figuresOf(rows) {
  const lines = rows.flatMap(({ id, title, checks }) => [
    [`**${id}** ${title}`, '', '', ''],
    ...checks.map(({ what, measured, goal, verdict }) =>
      goal === '–' ? [what, measured, '', ''] : [what, measured, goal, verdict],
    ),
  ]);
  return markdownTable(['', 'measured', 'goal', ''], lines, [3]);
}
