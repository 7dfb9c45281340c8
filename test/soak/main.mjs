import { endAll } from './lifeline.mjs';
import { readOptions, UsageError, USAGE } from './options.mjs';
import { reportOf } from './report.mjs';
import { soak } from './soak.mjs';

const print = (line) => console.log(line);

/** Ctrl-C ends what was started, too. */
function endWithTheUser() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ]) {
    process.once(signal, () => {
      void endAll().then(() => process.exit(code));
    });
  }
}

/** @returns {Promise<boolean>} whether all is well */
async function oneRun(options, program) {
  print(`soak: ${options.minutes} min, seed ${options.seed}, ${options.processes} processes`);
  const outcome = await soak(options, { program, log: print, keepLogs: options.keep ? 'always' : 'if bad' });
  print(reportOf(outcome));
  const bad = outcome.findings.list.length > 0;
  if (bad || options.keep) print(`The logs are in ${outcome.directory}`);
  print(bad ? `NOT GOOD (seed ${options.seed})` : `good (seed ${options.seed})`);
  return !bad;
}

/**
 * @param {readonly string[]} args what the user typed
 * @param {{ program: string }} redis
 * @returns {Promise<number>} exit code
 */
export async function main(args, { program }) {
  const options = readOptions(args);
  endWithTheUser();
  return (await oneRun(options, program)) ? 0 : 1;
}

export { UsageError, USAGE, readOptions };
