import { Actor } from '../harness/actor.mjs';
import { elapse, monotonicMs } from '../harness/clock.mjs';
import { atMost } from '../report/checks.mjs';

export const id = 'M11';
export const title = 'crash of the holder, and of the first in the queue: until the next holder runs';

/** None: leases and time-outs determine these times, not the speed of the build. */
export const gauges = [];

const LEASE_MS = 3_000;
const OPTIONS = { watchdogTimeout: LEASE_MS };

export async function run(context) {
  const repetitions = context.quick ? 2 : 6;
  const kinds = [
    ['holder killed → next holder', (place) => holderCrash(context, place, repetitions), LEASE_MS + 1_000],
    ['head of the queue killed, then released → next holder', () => headCrash(context, 'SIGKILL'), 2_500],
    ['head of the queue stopped, then released → next holder', () => headCrash(context, 'SIGSTOP'), 2_500],
  ];
  await context.stats.empty();
  const checks = [];
  for (const [name, crash, goal] of kinds) {
    context.progress(id, `${name}, ${repetitions} times`);
    const times = await Promise.all(Array.from({ length: repetitions }, (_, place) => crash(place)));
    checks.push(atMost(`${name}, longest`, Math.max(...times), goal, { unit: ' ms' }));
  }
  return { checks };
}

let keys = 0;

async function withActors({ url }, count, use) {
  const actors = Array.from({ length: count }, () => new Actor('crash.mjs'));
  try {
    await Promise.all(actors.map((actor) => actor.call('open', url, OPTIONS)));
    return await use(actors, `crash:${++keys}`);
  } finally {
    await Promise.all(actors.map((actor) => actor.kill()));
  }
}

/** The repetitions crash at different moments between two renewals. */
async function holderCrash(context, place, places) {
  return await withActors(context, 2, async ([holder, waiter], key) => {
    await holder.call('acquire', key);
    await waiter.call('queueFor', key);
    await elapse((place / places) * (LEASE_MS / 3));
    const killedAt = monotonicMs();
    holder.signal('SIGKILL');
    return (await waiter.call('grantedAt', key)) - killedAt;
  });
}

/** @returns ms from the release until the second in the queue runs, if a signal ended or stopped the first one */
export async function headCrash(context, signal) {
  return await withActors(context, 3, async ([holder, head, next], key) => {
    await holder.call('acquire', key);
    await head.call('queueFor', key);
    await next.call('queueFor', key);
    head.signal(signal);
    if (signal === 'SIGKILL') await head.exited;
    const releasedAt = await holder.call('release', key);
    return (await next.call('grantedAt', key)) - releasedAt;
  });
}
