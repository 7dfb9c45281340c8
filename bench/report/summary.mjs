import { short } from './numbers.mjs';
import { table } from './table.mjs';

/** All checks of all rows, one line each. */
export function summaryTable(results) {
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

/** One word per row. */
export function verdictOf(checks) {
  const decisive = checks.filter(({ goal }) => goal !== '–');
  const open = decisive.filter(({ reached }) => !reached);
  return open.length === 0
    ? 'reached'
    : `missed: ${open.map(({ what, verdict }) => `${what} (${verdict})`).join('; ')}`;
}
