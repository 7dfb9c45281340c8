/**
 * Java and Node.js processes contend for one lock, while processes are killed or stopped and the lock is broken by force.
 *
 * contest.mjs REDIS_URL CLASS_PATH SECONDS: prints a JSON object, and fails if a hold overlapped another one
 * without a fault that explains it, or if an increment was lost.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as elapse } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { LockProcess } from './lock-process.mjs';

const WATCHDOG = 1_500;
const CALLERS = 5;
/** How long a process contends before it reports, ms. */
const ROUND = 1_000;

/** One side's process, started again whenever it was killed. */
class Contender {
  constructor(kind, start, totals) {
    Object.assign(this, { kind, start, totals, isOver: false });
  }

  async open() {
    this.process = await this.start();
  }

  async run(name, guarded) {
    while (!this.isOver) {
      try {
        while (!this.isOver)
          this.count(await this.process.ask('main', 'contend', name, guarded, CALLERS, ROUND));
      } catch (error) {
        // A killed process reports nothing; the guarded number shows what it has written.
        if (!error.message.includes('the process ended')) throw error;
      }
      await this.process.close();
      if (!this.isOver) await this.open();
    }
    // It may have been started while the contest ended.
    await this.process.close();
  }

  count(reply) {
    const [holds, written, refused, longest] = reply.split(' ').map(Number);
    const { totals } = this;
    totals.holds[this.kind] += holds;
    totals.written += written;
    totals.refused += refused;
    totals.longestWait[this.kind] = Math.max(totals.longestWait[this.kind], longest);
  }
}

const FAULTS = {
  kill: async ({ process }) => process?.kill('SIGKILL'),
  stop: async ({ process }) => {
    process?.kill('SIGSTOP');
    await elapse(1.5 * WATCHDOG);
    process?.kill('SIGCONT');
  },
  force: async ({ process }, name) => {
    await process?.ask('breaker', 'forceUnlock', name).catch(() => undefined);
  },
};

export async function contest({ url, classPath, seconds, hasFaults }) {
  const [name, guarded] = [`contest-${randomUUID()}`, `guarded-${randomUUID()}`];
  const totals = {
    holds: { java: 0, node: 0 },
    longestWait: { java: 0, node: 0 },
    written: 0,
    refused: 0,
    faults: { kill: 0, stop: 0, force: 0 },
  };
  const java = () => LockProcess.java(classPath, [url], WATCHDOG);
  const node = () => LockProcess.node([url], WATCHDOG);
  const contenders = [
    ...[0, 1].map(() => new Contender('java', java, totals)),
    ...[0, 1].map(() => new Contender('node', node, totals)),
  ];
  await Promise.all(contenders.map((each) => each.open()));
  const running = Promise.all(contenders.map((each) => each.run(name, guarded)));
  const end = performance.now() + seconds * 1_000;
  const kinds = Object.keys(FAULTS);
  for (let turn = 0; performance.now() < end; turn += 1) {
    await Promise.race([elapse(500), running]);
    if (!hasFaults) continue;
    const kind = kinds[turn % kinds.length];
    totals.faults[kind] += 1;
    await FAULTS[kind](contenders[turn % contenders.length], name);
  }
  for (const each of contenders) each.isOver = true;
  await running;
  const redis = new Redis(url);
  const value = Number(await redis.hget(guarded, 'value'));
  redis.disconnect();
  return { ...totals, value };
}

/**
 * Passes a lock from Java to Node.js and back.
 *
 * @returns the times from the call of `unlock` on one side until the waiter of the other side has the lock, in microseconds,
 *   the shortest first
 */
export async function wakeUps({ url, java, node, rounds }) {
  const redis = new Redis(url);
  const name = `passed-${randomUUID()}`;
  const isAwaited = async () => {
    while ((await redis.pubsub('NUMSUB', `redisson_lock__channel:{${name}}`))[1] !== 1) await elapse(1);
  };
  const pass = async (from, to) => {
    const waiting = to.ask('waiter', 'lock', name);
    await isAwaited();
    const unlockedAt = await from.ask('waiter', 'unlock', name);
    return Number(await waiting) - Number(unlockedAt);
  };
  const times = { toNode: [], toJava: [] };
  await java.ask('waiter', 'lock', name);
  for (let round = 0; round < rounds; round += 1) {
    times.toNode.push(await pass(java, node));
    times.toJava.push(await pass(node, java));
  }
  await java.ask('waiter', 'unlock', name);
  redis.disconnect();
  for (const all of Object.values(times)) all.sort((one, other) => one - other);
  return times;
}

/** What is wrong with the outcome, in words. */
export function findingsOf({ written, refused, value, faults, holds }) {
  const { kill, stop, force } = faults;
  // A process that is not notified of a break continues its turn, of 8 holds at most.
  const explained = stop + 8 * force;
  return [
    ...(refused > explained
      ? [`${refused} holds overlapped a later one, but only ${explained} were broken`]
      : []),
    // A killed process does not report its last round.
    ...(value < written ? [`${written - value} of ${written} increments were lost`] : []),
    ...(kill === 0 && value !== written
      ? [`${written} increments were written, but the number is ${value}`]
      : []),
    ...(holds.java === 0 || holds.node === 0 ? ['one side got no hold'] : []),
  ];
}

const [url, classPath, seconds] = process.argv.slice(2);
if (process.argv[1]?.endsWith('contest.mjs')) {
  const outcome = await contest({ url, classPath, seconds: Number(seconds), hasFaults: true });
  const findings = findingsOf(outcome);
  console.log(JSON.stringify({ ...outcome, findings }));
  process.exitCode = findings.length === 0 ? 0 : 1;
}
