import { sellable } from './sale.mjs';

const SHARES = 4;

/** Prints how many orders are done, a few times. */
export function printProgress(name, total) {
  let printed = 0;
  return (done) => {
    const share = Math.floor((done / total) * SHARES);
    if (share === printed) return;
    printed = share;
    process.stdout.write(`${name}  ${done}/${total}\n`);
  };
}

const milliseconds = (value) => `${Math.round(value)} ms`;

const COLUMNS = [
  ['', (_, name) => name],
  ['sold', (run) => `${run.sold}`],
  ['left', (run) => `${run.left}`],
  ['oversold', (run) => `${run.oversold}`],
  ['rejected', (run) => `${run.rejected}`],
  ['orders/s', (run) => `${Math.round(run.perSecond)}`],
  ['p50', (run) => milliseconds(run.p50)],
  ['p99', (run) => milliseconds(run.p99)],
];

/** @param {Record<string, object>} runs results by the name of the run */
export function table(runs) {
  const rows = [COLUMNS.map(([title]) => title)];
  for (const [name, run] of Object.entries(runs)) rows.push(COLUMNS.map(([, cell]) => cell(run, name)));
  const widths = COLUMNS.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])))
      .join('   ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

function failuresOf(run) {
  return run.failures
    .map(({ outcome, count, example }) => `${count} × ${outcome}${example ? ` ("${example}")` : ''}`)
    .join(', ');
}

/** The faults of the run with the lock; none if it sold exactly what it could. */
export function findFaults(run, sale) {
  const expected = sellable(sale);
  const faults = [];
  if (run.sold !== expected) faults.push(`sold ${run.sold} instead of ${expected}`);
  if (run.oversold > 0) faults.push(`oversold by ${run.oversold}`);
  if (run.failures.length > 0) faults.push(`orders failed: ${failuresOf(run)}`);
  run.levels.forEach((level, index) => {
    if (level.sold !== run.sold || level.stock !== sale.stock - run.sold || level.orders !== run.accepted) {
      faults.push(`the database as instance ${index + 1} sees it says ${JSON.stringify(level)}`);
    }
  });
  return faults;
}

/** Summarizes the actual results in a few sentences. */
export function conclusion(unprotected, protectedRun, sale) {
  const lines = [];
  const failed = unprotected.failures.length > 0 ? ` Orders failed: ${failuresOf(unprotected)}.` : '';
  if (unprotected.oversold > 0) {
    lines.push(`Without the lock ${unprotected.oversold} were sold that never existed.${failed}`);
  } else {
    lines.push(`Without the lock nothing was oversold this time: that was luck, or enough for all.${failed}`);
  }

  const faults = findFaults(protectedRun, sale);
  lines.push(
    faults.length === 0
      ? `With the lock exactly ${protectedRun.sold} were sold, in ${protectedRun.accepted} orders; the database agrees.`
      : `FAILED: with the lock ${faults.join('; ')}.`,
  );
  return lines.join('\n');
}
