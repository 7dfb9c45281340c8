import { randomUUID } from 'node:crypto';
import type { LockService } from '../../api/lock.service.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import type { ServerReport } from '../../stores/redis/doctor/examine-redis.js';
import { ok, problem, warning, type Finding } from '../../stores/redis/doctor/finding.js';
import { openLocks } from '../place/open-locks.js';
import { wakeUp } from './wake-up.js';

/** How long the trial may wait for its lock, and a request for its answer, ms. */
const WAIT = 3_000;
const LEASE = 30_000;
const LOOKS = 20;

/**
 * Uses the locks as an application does, whatever keeps them.
 *
 * @param isExamined whether what the store warns of has been found out already
 */
export async function examineLocks(
  options: DistributedLockOptions,
  isExamined: boolean,
): Promise<ServerReport> {
  const [holder, waiter] = [openLocks(options), openLocks(options)];
  const key = `nestjs-distributed-lock:doctor:${randomUUID()}`;
  const findings: Finding[] = [];
  try {
    const { handle, finding } = await trial(holder.locks, key);
    findings.push(finding);
    const { name, description } = holder.locks.status().store;
    if (!isExamined) findings.unshift(...(await storeFindings(holder, key, description)));
    const grants = await grantsFinding(holder.locks);
    if (grants !== undefined && !finding.text.includes(grants.text)) findings.push(grants);
    if (handle !== undefined) findings.push(await wakeUp(holder.locks, waiter.locks, handle));
    return { server: `Locks in ${name}`, findings };
  } finally {
    await Promise.all([holder.close(), waiter.close()]);
  }
}

async function trial(
  locks: LockService,
  key: string,
): Promise<{ readonly handle?: LockHandle; readonly finding: Finding }> {
  try {
    // Connects, which is not part of what is measured.
    await locks.isLocked(key);
    const startedAt = performance.now();
    const handle = await locks.acquire(key, { waitTime: WAIT, leaseTime: LEASE, label: 'doctor' });
    return { handle, finding: ok('lock', `taken in ${(performance.now() - startedAt).toFixed(1)} ms`) };
  } catch (error) {
    return { finding: problem('lock', `no lock can be taken: ${(error as Error).message}`) };
  }
}

/** What keeps the store from granting locks, though it may have granted one to the trial: a right, a table, replicas. */
async function grantsFinding(locks: LockService): Promise<Finding | undefined> {
  const { store } = await locks.probe();
  if (store.failingSince === undefined) return undefined;
  const { error, remedy } = store;
  return problem('grants', [error?.message ?? 'it does not answer', remedy].filter(Boolean).join('. '));
}

/** Of a store that is not examined in another way: what its own check says, and how long it takes. */
async function storeFindings(
  { locks, warnings }: ReturnType<typeof openLocks>,
  key: string,
  description: string | undefined,
): Promise<readonly Finding[]> {
  const found = warnings.filter((one) => !one.startsWith("Locks can't be taken"));
  const warned = found.map((one) => warning('store', one));
  if (locks.status().store.reachable !== true) return warned;
  const times: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const startedAt = performance.now();
    await locks.isLocked(key);
    times.push(performance.now() - startedAt);
  }
  times.sort((one, other) => one - other);
  const median = times[LOOKS / 2] ?? 0;
  return [
    ok('connection', description ?? 'it answers'),
    ...warned,
    ok(
      'latency',
      `${median.toFixed(1)} ms for a look at a lock, ${(times.at(-1) ?? 0).toFixed(1)} ms at most`,
    ),
  ];
}
