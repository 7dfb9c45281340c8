import { short, times } from './numbers.mjs';

/**
 * @typedef {{ id: string, title: string, checks: import('./checks.mjs').Check[], measuredAt: string,
 *   commit: string | undefined, machine: Record<string, string | number>, data: unknown }} MeasuredRow
 */

/**
 * Replaces the parts of the page between `<!-- NAME -->` and `<!-- /NAME -->` by current results.
 *
 * @param {string} page
 * @param {readonly MeasuredRow[]} rows
 * @returns {string}
 * @throws {Error} if a pair of markers is missing
 */
export function pageWith(page, rows) {
  const parts = { machine: machineOf(rows), figures: figuresOf(rows), ahead: aheadOf(rows) };
  return Object.entries(parts).reduce((text, [name, content]) => {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`The page has no ${open} … ${close}.`);
    return `${text.slice(0, from + open.length)}\n\n${content}\n\n${text.slice(to)}`;
  }, page);
}

function machineOf(rows) {
  if (rows.length === 0) return 'Nothing has been measured yet.';
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

const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

function figuresOf(rows) {
  const lines = rows.flatMap(({ id, title, checks }) => [
    [`**${id}** ${title}`, '', '', ''],
    ...checks.map(({ what, measured, goal, verdict }) =>
      goal === '–' ? [what, measured, '', ''] : [what, measured, goal, verdict],
    ),
  ]);
  return [line(['', 'measured', 'goal', '']), line(['---', '--:', '--:', '---']), ...lines.map(line)].join(
    '\n',
  );
}

/** Every load in which a peer had more holds per second. */
function aheadOf(rows) {
  const lines = rows.flatMap(({ id, data }) => (data?.loads ?? []).flatMap((load) => aheadIn(id, load)));
  return lines.length === 0 ? 'In none of these rows another library had more holds.' : lines.join('\n');
}

/** Names the best of the peers that are ahead. */
function aheadIn(id, { name, plan, candidates }) {
  const peers = candidates
    .filter(({ kind }) => kind === 'peer')
    .sort((a, b) => b.perSecond.median - a.perSecond.median);
  return candidates
    .filter(({ kind }) => kind === 'ours')
    .flatMap((mine) => {
      const [best, ...more] = peers.filter(({ perSecond }) => perSecond.median > mine.perSecond.median);
      if (best === undefined) return [];
      const where = [`**${id}**`, name].filter(Boolean).join(', ');
      const by = times(best.perSecond.median / mine.perSecond.median);
      const others = more.length === 0 ? '' : ` and ${more.length} more`;
      // Without contention, turns say nothing about fairness.
      const turns = plan.keysPerCaller === null ? `; turns ${turnsOf(best)} against ${turnsOf(mine)}` : '';
      return [`- ${where}, ${mine.label}: ${best.label} ${by}${others}${turns}.`];
    });
}

function turnsOf({ turns: { least, most } }) {
  return least === most ? short(most) : `${short(least)}–${short(most)}`;
}
