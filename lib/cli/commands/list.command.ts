import type { LockInfo } from '../../model/lock-info.js';
import { heldLocks, withLocks, type Command } from '../common/command.js';
import { EXIT } from '../common/exit-codes.js';
import { lockDocument, TABLE_HEAD, tableRow } from '../common/lock-views.js';
import { tableOf } from '../common/output.js';

const DEFAULT_LIMIT = 100;

export const list: Command = {
  summary: 'list the held locks, oldest hold first',
  help: `Usage: nestjs-distributed-lock list [--match GLOB] [--limit N]

Lists the locks held by any process, oldest hold first. The store scans all its entries, a
few at a time; locks acquired or released meanwhile may be missing.

  --match GLOB         only keys that match: * stands for any characters, ? for one (default *)
  --limit N            at most N locks, the oldest (default ${DEFAULT_LIMIT})

Exit codes: 0, even if no lock is held; 64 usage; 69 the store is unavailable.`,
  options: { match: { type: 'string' }, limit: { type: 'string' } },

  async run(context) {
    const { args, output } = context;
    args.refusePositionals();
    const limit = args.count('limit') ?? DEFAULT_LIMIT;
    const match = args.text('match') ?? '*';
    const { locks, total, where } = await withLocks(context, async (open) => {
      let found: LockInfo[] = [];
      let count = 0;
      for await (const lock of heldLocks(open.admin, match)) {
        count += 1;
        found.push(lock);
        // Bounds the memory, however many there are.
        if (found.length > 2 * limit) found = oldestOf(found, limit);
      }
      return { locks: oldestOf(found, limit), total: count, where: open.where };
    });
    const now = Date.now();
    if (output.json) {
      output.document({ locks: locks.map((lock) => lockDocument(lock, now)), total, where });
      return EXIT.ok;
    }
    if (total === 0) {
      output.notice(`No lock is held in ${where}.`);
      return EXIT.ok;
    }
    output.lines(...tableOf([TABLE_HEAD, ...locks.map((lock) => tableRow(lock, now))]));
    const shown = total > locks.length ? `${locks.length} of ${total}` : total;
    const all = total > locks.length ? `; --limit ${total} shows all` : '';
    output.notice(`${shown} ${total === 1 ? 'lock' : 'locks'} in ${where}${all}.`);
    return EXIT.ok;
  },
};

function oldestOf(locks: readonly LockInfo[], limit: number): LockInfo[] {
  // Holds of other software have no time, and come first.
  const byTime = (one: LockInfo, other: LockInfo): number => (one.acquiredAt ?? 0) - (other.acquiredAt ?? 0);
  return [...locks].sort(byTime).slice(0, limit);
}
