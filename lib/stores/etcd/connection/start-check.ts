import { methods } from '../protocol/methods.js';
import type { StatusReply } from '../protocol/replies.js';
import type { Endpoint } from './endpoint.js';
import { EtcdError } from './etcd-failure.js';

/** The first version of each series in which faults that concern locks are mended. */
const WITHOUT_KNOWN_FAULTS = [3, 5, 18] as const;
const OLDEST = [3, 4, 0] as const;

export const OUT_OF_SPACE =
  'etcd has no space left, so that no lock can be acquired; those that are held are kept. Compact and defragment it, then ' +
  'disarm its alarm: etcdctl alarm disarm';

export function isFull(errors: StatusReply['errors']): boolean {
  return errors.some((error) => error.includes('NOSPACE'));
}

/** What an operator should know of a member, each with a remedy. */
export function warningsOf({ version, errors }: StatusReply): string[] {
  const warnings: string[] = [];
  if (isBefore(version, OLDEST)) {
    warnings.push(`etcd ${version} is too old for locks: use 3.4 or newer, best 3.5.18 or newer.`);
  } else if (isBefore(version, WITHOUT_KNOWN_FAULTS)) {
    warnings.push(
      `etcd ${version} has faults that concern locks and are mended in 3.5.18: it may end leases that are kept alive, by ` +
        'which locks are lost before their time (their holders are told), and it may leave out changes that are watched, ' +
        'so that waiters find out up to a second later. Upgrade it.',
    );
  }
  if (isFull(errors)) warnings.push(`${OUT_OF_SPACE}.`);
  return warnings;
}

/** So many past changes of one lock halve its hand-overs; where etcd never compacts they only become more. */
const NEVER_COMPACTED = 20_000;
/** More than compaction every five minutes leaves behind in a cluster with some 300 changes a second. */
const RARELY_COMPACTED = 100_000;

/**
 * Warns where etcd keeps more of its past than is good for locks.
 *
 * @param key one that the user may read
 * @param now the present revision
 */
export async function historyWarnings(
  endpoint: Pick<Endpoint, 'call'>,
  key: string,
  now: number,
): Promise<string[]> {
  const costs =
    'Each hold leaves a deleted key in this history, and every read of its lock goes over those, so that locks that are used ' +
    'much become slower and slower';
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

/** Whether it could still be read as it was then: only maintenance rights would show how far the history goes back. */
async function hasRevision(
  endpoint: Pick<Endpoint, 'call'>,
  key: string,
  revision: number,
): Promise<boolean> {
  try {
    await endpoint.call(methods.range, { do: 'range', key, revision, countOnly: true, serializable: true });
    return true;
  } catch (error) {
    // It has been compacted. Whatever else etcd, or a proxy before it, may have against the question is no reason not to start.
    if (error instanceof EtcdError) return false;
    throw error;
  }
}

function isBefore(version: string, than: readonly number[]): boolean {
  const parts = version.split(/[.-]/).map(Number);
  for (const [index, other] of than.entries()) {
    const part = parts[index] ?? 0;
    // A version that can't be read is not blamed.
    if (!(part >= 0) || part > other) return false;
    if (part < other) return true;
  }
  return false;
}
