import { allCandidates } from './candidates/candidates.mjs';
import { openServer } from './harness/server.mjs';
import { describeMachine, measuredCommit } from './machine.mjs';
import { WRITTEN, writePages } from './report/pages.mjs';
import { saveRows } from './report/results.mjs';
import { runRows } from './report/run-rows.mjs';
import { ROWS } from './rows/rows.mjs';

/**
 * Measures and prints rows on Redis, and writes the results if requested.
 *
 * @param {{ rows: string[], quick: boolean, write: boolean }} order
 * @param {string} program path of redis-server
 * @param {(line: string) => void} log
 */
export async function measureRows({ rows, quick, write }, program, log) {
  const { url, stats } = await openServer(program);
  const machine = describeMachine(await stats.version());
  const commit = measuredCommit();
  const candidates = await allCandidates();
  console.log(
    Object.entries(machine)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · '),
  );
  printSettings(candidates);
  const contextOf = (id) => {
    // Both settings of a peer run the same code, so a quick run needs both only once.
    const few = quick && id !== 'M1';
    const chosen = candidates.filter(({ kind, variant }) => !few || kind !== 'peer' || variant === 'tuned');
    return {
      url,
      stats,
      candidates: chosen.filter(({ shares }) => !shares),
      sharing: chosen.filter(({ shares }) => shares),
    };
  };
  const wanted = ROWS.filter(({ id }) => rows.includes(id));
  const results = await runRows(wanted, { contextOf, commit, machine, quick }, log);
  if (!write) return;
  console.log(`written to ${saveRows('redis', results)}, ${WRITTEN}`);
  await writePages();
}

function printSettings(candidates) {
  console.log('\nsettings');
  for (const { label, settings, shares } of candidates) {
    console.log(
      `  ${label}${shares ? ', shared' : ''}: ${JSON.stringify(settings, settingText).replaceAll('"', '')}`,
    );
  }
}

/** JSON has no Infinity. */
function settingText(_name, value) {
  return value === Infinity || value === Number.MAX_SAFE_INTEGER ? 'unlimited' : value;
}
