import { allCandidates } from './candidates/candidates.mjs';
import { openServer } from './harness/server.mjs';
import { describeMachine, measuredCommit } from './machine.mjs';
import { writeResults } from './report/results-file.mjs';
import { summaryTable, verdictOf } from './report/summary.mjs';
import { ROWS } from './rows/rows.mjs';

/**
 * Measures the named rows, prints them, and writes them where that is wanted.
 *
 * @param {{ rows: string[], quick: boolean, write: boolean }} order
 * @param {string} program path of redis-server
 * @param {(line: string) => void} log
 */
export async function measureRows({ rows, quick, write }, program, log) {
  const started = performance.now();
  const { url, stats } = await openServer(program);
  const machine = describeMachine(await stats.version());
  const commit = measuredCommit();
  const candidates = await allCandidates();
  const progress = (row, line) => {
    const seconds = Math.round((performance.now() - started) / 1_000);
    log(`${String(seconds).padStart(4)} s  ${row}  ${line}`);
  };
  console.log(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · '),
  );
  console.log(
    `commit ${commit ?? 'unknown'} · ${new Date().toISOString()}${quick ? ' · quick: rounds too short for figures' : ''}`,
  );
  printSettings(candidates);

  const results = [];
  for (const { id, title, run } of ROWS.filter((row) => rows.includes(row.id))) {
    // Both settings of a peer run the same code; having seen both once is enough for a quick run.
    const few = quick && id !== 'M1';
    const chosen = few
      ? candidates.filter(({ kind, variant }) => kind !== 'peer' || variant === 'tuned')
      : candidates;
    const { text, checks, data } = await run({
      url,
      stats,
      candidates: chosen.filter(({ shares }) => !shares),
      sharing: chosen.filter(({ shares }) => shares),
      quick,
      progress,
    });
    console.log(`\n${id}  ${title}\n\n${text.join('\n\n')}`);
    const verdict = verdictOf(checks);
    results.push({ id, title, verdict, checks, measuredAt: new Date().toISOString(), commit, machine, data });
  }
  console.log(`\n${summaryTable(results)}\n`);
  for (const { id, verdict } of results) console.log(`${id.padEnd(4)} ${verdict}`);
  const seconds = Math.round((performance.now() - started) / 1_000);
  console.log(`\n${seconds} s`);
  if (write) {
    await writeResults(results, candidates);
    console.log('written to bench/results/results.json, docs/performance.md and docs/performance/chart.svg');
  }
}

function printSettings(candidates) {
  console.log('\nsettings');
  for (const { label, settings, shares } of candidates) {
    console.log(
      `  ${label}${shares ? ', shared' : ''}: ${JSON.stringify(settings, settingText).replaceAll('"', '')}`,
    );
  }
}

/** JSON knows no Infinity. */
function settingText(_name, value) {
  return value === Infinity || value === Number.MAX_SAFE_INTEGER ? 'unlimited' : value;
}
