import type { LockInfo } from '../../model/lock-info.js';
import { withLocks, type Command } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { lockDocument, TABLE_HEAD, tableRow } from '../output/lock-views.js';
import { tableOf } from '../output/table.js';
import { heldLocks } from '../place/held-locks.js';

const DEFAULT_LIMIT = 100;

export const list: Command = {
  summary: 'the locks that are held, the oldest hold first',
  help: `Usage: nestjs-distributed-lock list [--match GLOB] [--limit N]

Shows the locks that are held by any process, the oldest hold first. The store looks at everything that it has, a
little at a time; locks that are taken or given back meanwhile may be missing.

  --match GLOB         only keys that look like this: * stands for any characters, ? for one (default *)
  --limit N            at most so many, the oldest (default ${DEFAULT_LIMIT})

Exit codes: 0, also when no lock is held; 64 usage; 69 the store can't be asked.`,
  options: { match: { type: 'string' }, limit: { type: 'string' } },

  async run(context) {
    const { args, output } = context;
    args.nothingElse();
    const limit = args.count('limit') ?? DEFAULT_LIMIT;
    const match = args.text('match') ?? '*';
    const { locks, total, where } = await withLocks(context, async (open) => {
      const oldest = new OldestLocks(limit);
      for await (const lock of heldLocks(open.locks, match)) oldest.add(lock);
      return { locks: oldest.all, total: oldest.total, where: open.where };
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

/** Keeps so many, however many there are. */
class OldestLocks {
  total = 0;
  private kept: LockInfo[] = [];

  constructor(private readonly limit: number) {}

  add(lock: LockInfo): void {
    this.total += 1;
    this.kept.push(lock);
    if (this.kept.length > 2 * this.limit) this.kept = [...this.all];
  }

  get all(): readonly LockInfo[] {
    // What other software holds tells no time.
    const ageOf = ({ acquiredAt }: LockInfo): number => acquiredAt ?? -Infinity;
    return [...this.kept].sort((one, other) => compare(ageOf(one), ageOf(other))).slice(0, this.limit);
  }
}

function compare(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}
