import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { spawnTied } from './lifeline.mjs';

const script = fileURLToPath(new URL('cycles-worker.mjs', import.meta.url));
/** Growth that garbage collection alone can cause, bytes. */
const NOISE = 1_000_000;
/** Less than the smallest object: no cycle may leave anything. Bytes. */
const PER_CYCLE = 4;
/** A process that has closed everything exits within this time, ms. */
const EXIT = 2_000;

/**
 * F50: what accumulates over many cycles and abandoned waits.
 *
 * @param {{ build: string, redis: string, cycles: number, abandoned: number, samples: number }} plan
 * @param {(sample: object) => void} onSample
 */
export async function runCycles(plan, onSample = () => undefined) {
  const child = spawnTied(process.execPath, ['--expose-gc', script, JSON.stringify(plan)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
  const samples = [];
  let closedAt;
  child.on('message', (message) => {
    if (message.closed) closedAt = performance.now();
    else {
      samples.push(message);
      onSample(message);
    }
  });
  const [code] = await once(child, 'exit');
  const problems = [];
  if (code !== 0 || output !== '') problems.push(`the process ended with ${code}: ${output}`);
  else {
    const exitTook = performance.now() - closedAt;
    if (exitTook > EXIT)
      problems.push(`the process was kept alive for ${exitTook.toFixed(0)} ms after it had closed`);
    problems.push(...growthIn(samples, plan.cycles + plan.abandoned));
  }
  return { samples, problems };
}

/**
 * What has grown between the first samples and the last.
 *
 * @param {readonly { heap: number, timers: number, listeners: number, connections: number, keys: number }[]} samples
 * @param {number} cycles the number of cycles between the first sample and the last
 * @returns {string[]} one line for each finding
 */
export function growthIn(samples, cycles) {
  const problems = [];
  const third = Math.ceil(samples.length / 3);
  const least = (name, part) => Math.min(...part.map((sample) => sample[name]));
  const early = samples.slice(0, third);
  const late = samples.slice(-third);
  const heap = least('heap', late) - least('heap', early);
  if (heap > NOISE + cycles * PER_CYCLE) {
    problems.push(
      `the heap grew by ${(heap / 1e6).toFixed(1)} MB, ${(heap / cycles).toFixed(0)} bytes a cycle`,
    );
  }
  for (const name of ['timers', 'listeners', 'connections', 'keys']) {
    const [before, after] = [Math.max(...early.map((sample) => sample[name])), least(name, late)];
    if (after > before) problems.push(`${name} grew from ${before} to ${after}`);
  }
  if (samples.some(({ listeners }) => listeners > 0)) {
    problems.push('listeners stay on a signal without waiters');
  }
  return problems;
}
