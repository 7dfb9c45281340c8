import { parseArgs } from 'node:util';
import { startPrivateRedis } from '../../bench/harness/private-redis.mjs';
import { UsageError } from '../soak/options.mjs';
import { contest, findingsOf } from './contest.mjs';

/**
 * `npm run soak -- --store redisson`: Java and Node.js processes contend for one lock, for `--minutes` (10), with faults unless
 * `--no-faults` is given.
 *
 * @returns {Promise<number>} the exit code
 */
export async function soakWithJava(args, { classPath, version, program }) {
  const options = {
    store: { type: 'string' },
    minutes: { type: 'string' },
    'no-faults': { type: 'boolean' },
  };
  const { values } = parsed(args, options);
  const minutes = Number(values.minutes ?? 10);
  if (!(minutes > 0)) throw new UsageError(`--minutes must be a number above 0; got "${values.minutes}".`);
  const hasFaults = values['no-faults'] !== true;
  console.log(`soak: redisson, ${minutes} min, 2 Java processes with Redisson ${version} and 2 of Node.js`);
  const { url, stop } = await startPrivateRedis(program);
  try {
    const outcome = await contest({ url, classPath, seconds: minutes * 60, hasFaults });
    const findings = findingsOf(outcome);
    const { holds, longestWait, written, refused, value, faults } = outcome;
    console.log(`holds             Java ${holds.java}, Node.js ${holds.node}`);
    console.log(`longest wait, ms  Java ${longestWait.java}, Node.js ${longestWait.node}`);
    console.log(
      `faults            ${Object.entries(faults)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}`,
    );
    console.log(
      `increments        ${written} reported, ${value} in the store; ${refused} refused by the fence`,
    );
    console.log(findings.length === 0 ? 'good' : `NOT GOOD: ${findings.join('; ')}`);
    return findings.length === 0 ? 0 : 1;
  } finally {
    stop();
  }
}

/** @throws {UsageError} */
function parsed(args, options) {
  try {
    return parseArgs({ args, options });
  } catch (error) {
    throw new UsageError(
      `${error.message.split('. ')[0]}. With --store redisson: --minutes <n>, --no-faults.`,
    );
  }
}
