import { randomUUID } from 'node:crypto';
import { setTimeout as elapse } from 'node:timers/promises';
import type { LockAdmin } from '../../api/lock-admin.js';
import type { LockService } from '../../api/lock.service.js';
import { LockUnsupportedError } from '../../model/lock.errors.js';
import type { LockHandle } from '../../model/lock-handle.js';
import type { StoreConnection } from '../../model/lock-status.js';
import type { DistributedLockOptions } from '../../nest/module/distributed-lock.options.js';
import { examineRedis, type ServerReport } from '../../stores/redis/doctor/examine-redis.js';
import { latencyOf, ok, problem, warning, type Finding } from '../../stores/redis/doctor/finding.js';
import { heldLocks, openLocks, type Command, type OpenLocks } from '../common/command.js';
import { EXIT } from '../common/exit-codes.js';
import { printable, tableOf, type Output } from '../common/output.js';

const STYLES = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

/** How long a trial may wait for its lock, ms. */
const TRIAL_WAIT = 3_000;
const TRIAL_LEASE = 30_000;
const LATENCY_LOOKS = 20;
const WAKE_UP_WAIT = 5_000;
/** A waiter polls once a second: a hand-over slower than this, ms, was not announced by a message. */
const SLOWEST_MESSAGE = 600;
const SLOWLY = 'Waiters that are not woken poll once a second, so hand-overs take up to a second.';
/** Remedies for waiters without messages, by the name of the store. */
const WAKE_UP_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /^PostgreSQL/,
    'LISTEN needs a direct connection to the server: behind a pooler, give the address of the server itself with postgresStore({ listen }).',
  ],
  [
    /Redis/i,
    'Allow the user its channel and (S)SUBSCRIBE and (S)PUBLISH, and connect without a proxy that drops messages.',
  ],
];

export const doctor: Command = {
  summary: 'check whether the store is fit for locks, and what to do if not',
  help: `Usage: nestjs-distributed-lock doctor

Examines each Redis server with the rights that locks have there: connection, version, role, rights, eviction,
persistence, clock and latency. Acquires a lock, lets a second client wait for it, and releases it, to check whether
waiters are woken by messages (pub/sub). Other stores than Redis report the findings of their own check at start.
Every problem comes with its remedy. The trial lock has its own key; nothing else is written.

Exit codes: 0 no problem, maybe warnings; 1 a problem: locks can't be acquired or relied on, or waits are too long;
64 usage.`,
  options: {},

  async run({ args, output, storeOptions }) {
    args.refusePositionals();
    const options = await storeOptions();
    // Throws for invalid options, which are not findings.
    await openLocks(options).close();
    const servers = await examineServers(options);
    const reports = [...servers, await examineLocks(options, servers.length > 0)];
    const isWell = reports.every(({ findings }) => findings.every(({ level }) => level !== 'problem'));
    if (output.json) output.document(documentOf(options, isWell, reports));
    else for (const report of reports) print(output, report);
    return isWell ? EXIT.ok : EXIT.no;
  },
};

function documentOf(
  { keyPrefix }: DistributedLockOptions,
  isWell: boolean,
  reports: readonly ServerReport[],
): object {
  const findings = reports.flatMap(({ server, findings: some }) => some.map((one) => ({ server, ...one })));
  return { ok: isWell, keyPrefix: keyPrefix ?? 'lock:', findings };
}

function print(output: Output, { server, findings }: ServerReport): void {
  const heads = tableOf(findings.map(({ level, check }) => [level, check]));
  const lines = findings.map(
    ({ level, text }, index) => `  ${output.styled(STYLES[level], heads[index] ?? '')}  ${printable(text)}`,
  );
  output.lines(output.styled('bold', printable(server)), ...lines);
}

/** A report on each Redis server of these locks; none for other stores. */
async function examineServers(options: DistributedLockOptions): Promise<readonly ServerReport[]> {
  const { keyPrefix = 'lock:' } = options;
  if ('redis' in options) return await examineRedis(options.redis, keyPrefix, options.replicas?.min ?? 0);
  if (!('quorum' in options)) return [];
  const reports = await Promise.all(options.quorum.map((member) => examineRedis(member, keyPrefix, 0)));
  return reports.flat();
}

/**
 * Uses locks of any store as an application does.
 *
 * @param isExamined whether {@link examineServers} has reported the warnings and latency of the store
 */
export async function examineLocks(
  options: DistributedLockOptions,
  isExamined: boolean,
): Promise<ServerReport> {
  const [holder, waiter] = [openLocks(options), openLocks(options)];
  const key = `nestjs-distributed-lock:doctor:${randomUUID()}`;
  const findings: Finding[] = [];
  try {
    const { handle, finding } = await tryLock(holder.locks, key);
    findings.push(finding);
    const { name } = holder.admin.status().store;
    if (!isExamined) findings.unshift(...(await storeFindings(holder, key)));
    if (handle !== undefined) {
      const grants = await grantsFinding(holder.admin);
      if (grants !== undefined) findings.push(grants);
      findings.push(await wakeUpFinding(holder, waiter, handle));
    }
    return { server: `Locks in ${name}`, findings };
  } finally {
    await Promise.all([holder.close(), waiter.close()]);
  }
}

async function tryLock(
  locks: LockService,
  key: string,
): Promise<{ readonly handle?: LockHandle; readonly finding: Finding }> {
  try {
    // Connects first, which is not part of the measured time.
    await locks.isLocked(key);
    const startedAt = performance.now();
    const handle = await locks.acquire(key, {
      waitTime: TRIAL_WAIT,
      leaseTime: TRIAL_LEASE,
      label: 'doctor',
    });
    return { handle, finding: ok('lock', `acquired in ${(performance.now() - startedAt).toFixed(1)} ms`) };
  } catch (error) {
    return { finding: problem('lock', `no lock can be acquired: ${(error as Error).message}`) };
  }
}

/**
 * Why the store grants no other locks although the trial acquired one: a missing right or table, or too few replicas. A
 * failed trial has reported it.
 */
async function grantsFinding(admin: LockAdmin): Promise<Finding | undefined> {
  const { store } = await admin.probe();
  if (store.failingSince === undefined) return undefined;
  const { error, remedy } = store;
  return problem('grants', [error?.message ?? 'it does not reply', remedy].filter(Boolean).join('. '));
}

/** The warnings of the store's own start check, and its latency. */
async function storeFindings(
  { locks, admin, warnings }: OpenLocks,
  key: string,
): Promise<readonly Finding[]> {
  const { description, reachable } = admin.status().store;
  const warned = warnings
    .filter((one) => !one.startsWith("Locks can't be acquired"))
    .map((one) => warning('store', one));
  if (reachable !== true) return warned;
  const { median, longest } = await latencyOf(() => locks.isLocked(key), LATENCY_LOOKS);
  return [
    ok('connection', description ?? 'it answers'),
    ...warned,
    ok('latency', `${median.toFixed(1)} ms to inspect a lock, ${longest.toFixed(1)} ms at most`),
    ...(await emptyFinding(admin, key)),
  ];
}

/** Whether this is another place than that of the applications, as with a wrong schema, prefix or path. */
async function emptyFinding(admin: LockAdmin, trial: string): Promise<readonly Finding[]> {
  try {
    for await (const { key } of heldLocks(admin, '*')) if (key !== trial) return [];
  } catch (error) {
    if (error instanceof LockUnsupportedError) return [];
    throw error;
  }
  const text =
    'no lock is held here except that of this check. If your applications hold some now, they use another schema, prefix or path';
  return [ok('locks', text)];
}

/** Whether a waiter is notified when the lock is released. Releases it. */
async function wakeUpFinding(holder: OpenLocks, waiter: OpenLocks, held: LockHandle): Promise<Finding> {
  const waiting = waiter.locks.acquire(held.key, { waitTime: WAKE_UP_WAIT, label: 'doctor' });
  // Its rejection is handled below.
  waiting.catch(() => undefined);
  try {
    await untilQueued(holder.admin, held.key);
    const releasedAt = performance.now();
    await held.release();
    const next = await waiting;
    const took = performance.now() - releasedAt;
    await next.release();
    const after = `${took.toFixed(1)} ms after its release`;
    if (took < SLOWEST_MESSAGE) return ok('pub/sub', `the waiter acquired the lock ${after}`);
    const { name, connections = [] } = waiter.admin.status().store;
    const text = `the waiter acquired the lock ${after}, but not by a message. ${SLOWLY}`;
    if (hasListeningOff(name, connections)) {
      return warning('pub/sub', `${text} That is configured by postgresStore({ listen: false }).`);
    }
    const [, remedy = 'Find out what keeps messages of the store from this machine.'] =
      WAKE_UP_REMEDIES.find(([store]) => store.test(name)) ?? [];
    return problem('pub/sub', `${text} ${remedy}`);
  } catch (error) {
    await held.release();
    return problem('pub/sub', `the waiter did not acquire the lock: ${(error as Error).message}`);
  }
}

/** Whether a PostgreSQL store has no connection for messages because of its options. */
function hasListeningOff(name: string, connections: readonly StoreConnection[]): boolean {
  return name.startsWith('PostgreSQL') && !connections.some((each) => each.name.endsWith(' messages'));
}

/** A lock released before the waiter is queued would be free, and nobody would be notified. */
async function untilQueued(admin: LockAdmin, key: string): Promise<void> {
  const end = performance.now() + WAKE_UP_WAIT / 2;
  while (((await admin.inspect(key))?.waiting ?? 0) === 0 && performance.now() < end) await elapse(10);
}
