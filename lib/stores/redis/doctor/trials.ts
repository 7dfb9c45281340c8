import type { Redis } from 'ioredis';
import type { KeyNames } from '../scripts/key-names.js';
import { ok, warning, type Finding } from './finding.js';

/** By so much two clocks may differ, ms. */
const MAX_OFFSET = 1_000;
const PINGS = 30;
/** From which on an answer takes long, ms. */
const SLOW = 20;
const STALLED = 200;

/** How the server's clock stands to the one of this machine. */
export async function clockFinding(redis: Redis): Promise<Finding> {
  const sentAt = Date.now();
  const startedAt = performance.now();
  const [seconds, micros] = (await redis.time()) as readonly (number | string)[];
  const way = (performance.now() - startedAt) / 2;
  const offset = Number(seconds) * 1_000 + Number(micros) / 1_000 - (sentAt + way);
  const text = `${Math.abs(offset / 1_000).toFixed(3)} s ${offset < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(offset) - way <= MAX_OFFSET) return ok('clock', text);
  return warning(
    'clock',
    `${text}: times of locks look wrong, and jobs that start by the clock need a longer holdAtLeast. Synchronise both clocks, and slew them rather than step.`,
  );
}

/** How long answers take. */
export async function latencyFinding(redis: Redis): Promise<Finding> {
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping += 1) {
    const startedAt = performance.now();
    await redis.ping();
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  const median = times[Math.floor(PINGS / 2)] ?? 0;
  const longest = times.at(-1) ?? 0;
  const text = `${median.toFixed(1)} ms there and back, ${longest.toFixed(1)} ms at most (${PINGS} pings)`;
  if (median > SLOW) {
    return warning(
      'latency',
      `${text}: each lock that is free costs as much. Keep the locks nearer to their users.`,
    );
  }
  if (longest > STALLED) {
    return warning(
      'latency',
      `${text}: the server or the network stands still at times. Look for slow commands (SLOWLOG GET), swapping and snapshots.`,
    );
  }
  return ok('latency', text);
}

/** What only this program, and `list()` of an application, need. */
export async function scanFinding(redis: Redis, names: KeyNames, user: string): Promise<readonly Finding[]> {
  try {
    await redis.scan('0', 'MATCH', names.patternOf(''), 'COUNT', 1);
    return [];
  } catch (error) {
    const { name, message } = error as Error;
    if (name !== 'ReplyError') throw error;
    const text = `list and watch without a key can't be used (${message}). Locks do not need it; to allow it: ACL SETUSER ${user} +scan`;
    return [warning('listing', text)];
  }
}
