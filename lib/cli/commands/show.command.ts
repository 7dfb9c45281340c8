import { withLocks, type Command } from '../common/command.js';
import { EXIT } from '../common/exit-codes.js';
import { lockDocument, lockLines } from '../common/lock-views.js';
import { printable, shellWord } from '../common/output.js';
import { storeArguments } from '../common/store-options.js';

export const show: Command = {
  summary: 'show the holders and waiters of a lock',
  help: `Usage: nestjs-distributed-lock show KEY

Shows the holders of a lock, each with its start, token and lease, and the waiters in order.
With --json, a free lock is null.

Exit codes: 0 held; 1 free; 64 usage; 69 the store is unavailable.`,
  options: {},

  async run(context) {
    const { args, output } = context;
    const key = args.key();
    const lock = await withLocks(context, ({ admin }) => admin.inspect(key));
    const now = Date.now();
    if (output.json) output.document(lockDocument(lock, now));
    else if (lock === null) output.lines(`${printable(key)} is free`);
    else {
      const what = lock.holders.length > 1 ? 'the first of them' : 'it';
      const words = [shellWord(key) ?? 'KEY', '--token', lock.token ?? 'none', ...storeArguments(args)];
      output.lines(
        ...lockLines(lock, now),
        `to break ${what}: npx nestjs-distributed-lock break ${words.join(' ')}`,
      );
    }
    return lock === null ? EXIT.no : EXIT.ok;
  },
};
