import { methods, type StatusReply } from './protocol.js';
import type { Endpoint } from './endpoint.js';
import { EtcdError } from './etcd-failure.js';

const OLDEST = [3, 4, 0] as const;
/** The first version with fixes for all faults that concern locks. */
const WITHOUT_KNOWN_FAULTS = [3, 5, 18] as const;
/** A history this long halves the hand-overs of a lock; without compaction it only grows. */
const NEVER_COMPACTED = 20_000;
/** More than compaction every five minutes leaves at about 300 changes a second. */
const RARELY_COMPACTED = 100_000;

export const OUT_OF_SPACE =
  'etcd has no space left, so no lock can be acquired; held locks are kept. Compact and defragment it, then ' +
  'disarm its alarm: etcdctl alarm disarm';

export function isFull(errors: StatusReply['errors']): boolean {
  return errors.some((error) => error.includes('NOSPACE'));
}

export function memberWarnings({ version, errors }: StatusReply): string[] {
  const warnings: string[] = [];
  if (isBefore(version, OLDEST)) {
    warnings.push(`etcd ${version} is too old for locks: use 3.4 or newer, best 3.5.18 or newer.`);
  } else if (isBefore(version, WITHOUT_KNOWN_FAULTS)) {
    warnings.push(
      `etcd ${version} has faults that concern locks, fixed in 3.5.18: it may end leases that are kept alive, so that ` +
        'locks are lost early (their holders are notified), and it may miss watched changes, ' +
        'so that waiters notice them up to a second late. Upgrade it.',
    );
  }
  if (isFull(errors)) warnings.push(`${OUT_OF_SPACE}.`);
  return warnings;
}

/**
 * Warns if etcd keeps so much history that it slows down locks.
 *
 * @param key any key that the user may read
 * @param now the current revision
 */
export async function historyWarnings(
  endpoint: Pick<Endpoint, 'call'>,
  key: string,
  now: number,
): Promise<string[]> {
  const costs =
    'Each hold leaves a deleted key in this history, and every read of its lock scans those, so that heavily used locks ' +
    'become slower and slower';
  if (now > NEVER_COMPACTED && (await hasRevision(endpoint, key, 1))) {
    return [
      `etcd has never compacted its history of ${String(now)} changes. ${costs}. Start its members with ` +
        '--auto-compaction-mode=periodic --auto-compaction-retention=5m.',
    ];
  }
  if (now > RARELY_COMPACTED && (await hasRevision(endpoint, key, now - RARELY_COMPACTED))) {
    return [
      `etcd keeps a history of more than ${String(RARELY_COMPACTED)} changes. ${costs}. Have it compacted more often: start its ` +
        'members with --auto-compaction-mode=periodic --auto-compaction-retention=5m, or, where 5 minutes have more changes ' +
        'than that, with --auto-compaction-mode=revision --auto-compaction-retention=10000.',
    ];
  }
  return [];
}

/** Whether a revision is still readable; asking where the history begins would need maintenance rights. */
async function hasRevision(
  endpoint: Pick<Endpoint, 'call'>,
  key: string,
  revision: number,
): Promise<boolean> {
  try {
    await endpoint.call(methods.range, { do: 'range', key, revision, countOnly: true, serializable: true });
    return true;
  } catch (error) {
    // Compacted, or rejected by etcd or a proxy for another reason, which must not prevent the start.
    if (error instanceof EtcdError) return false;
    throw error;
  }
}

/**
 * Sends a transaction that requires all rights that locks need, but changes nothing, as its conditions contradict each
 * other.
 */
export async function checkRights(endpoint: Endpoint, prefix: string): Promise<void> {
  const end = `${prefix}\u{10ffff}`;
  await endpoint.call(methods.transaction, {
    do: 'txn',
    if: [
      { key: prefix, exists: false },
      { key: prefix, exists: true },
    ],
    then: [{ do: 'delete', key: prefix, end }],
    else: [{ do: 'range', key: prefix, end, countOnly: true, limit: 1 }],
  });
}

function isBefore(version: string, than: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, other] of than.entries()) {
    const part = parts[index] ?? 0;
    // No warning for a version that is not a number.
    if (!(part >= 0) || part > other) return false;
    if (part < other) return true;
  }
  return false;
}
