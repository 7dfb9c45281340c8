import type { StatusReply } from '../protocol/replies.js';

/** The first version of each series in which faults that concern locks are mended. */
const WITHOUT_KNOWN_FAULTS = [3, 5, 18] as const;
const OLDEST = [3, 4, 0] as const;

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
  if (errors.some((error) => error.includes('NOSPACE'))) {
    warnings.push(
      'etcd has no space left, so that no locks can be taken. Compact and defragment it, then disarm its alarm: ' +
        'etcdctl alarm disarm.',
    );
  }
  return warnings;
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
