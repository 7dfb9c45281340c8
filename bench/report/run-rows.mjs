import { short } from './numbers.mjs';
import { table } from './table.mjs';

/** Measures rows one after the other. Prints each of them, and finally all checks. */
export async function runRows(rows, { contextOf, commit, machine, quick }, log) {
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1_000);
  const progress = (row, line) => log(`${String(seconds()).padStart(4)} s  ${row}  ${line}`);
  console.log(
    `commit ${commit ?? 'unknown'} · ${new Date().toISOString()}${quick ? ' · quick: rounds too short for figures' : ''}`,
  );
  const results = [];
  for (const { id, title, run } of rows) {
    const { text = [], checks, ...shown } = await run({ ...contextOf(id), quick, progress });
    if (text.length > 0) console.log(`\n${id}  ${title}\n\n${text.join('\n\n')}`);
    const measuredAt = new Date().toISOString();
    results.push({ id, title, measuredAt, commit, machine, checks, ...shown });
  }
  console.log(`\n${summaryTable(results)}\n`);
  for (const { id, checks } of results) console.log(`${id.padEnd(4)} ${verdictOf(checks)}`);
  console.log(`\n${seconds()} s`);
  return results.map((row) => ({ ...row, checks: row.checks.map(textOf) }));
}

/** What a page shows of a check. */
const textOf = ({ what, measured, goal, verdict }) => ({ what, measured, goal, verdict });

/** All checks of all rows, one line each. */
function summaryTable(results) {
  const lines = results.flatMap(({ id, checks }) =>
    checks.map((check, index) => [
      index === 0 ? id : '',
      check.what,
      check.measured,
      check.goal,
      check.ratio === null ? '' : short(check.ratio),
      check.verdict,
    ]),
  );
  const head = ['', 'figure', 'measured', 'goal', '÷ goal', 'verdict'];
  return table(head, lines);
}

function verdictOf(checks) {
  const decisive = checks.filter(({ goal }) => goal !== '–');
  const open = decisive.filter(({ reached }) => !reached);
  return open.length === 0
    ? 'reached'
    : `missed: ${open.map(({ what, verdict }) => `${what} (${verdict})`).join('; ')}`;
}
