import { isatty } from 'node:tty';
import type { LockHolder, LockInfo } from '../../model/lock-info.js';
import { withLocks, type Command, type CommandContext } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { holderText, lockDocument } from '../output/lock-views.js';
import { printable } from '../output/printable.js';
import type { OpenLocks } from '../place/open-locks.js';
import { UsageError } from '../usage-error.js';
import { confirmed } from './confirmation.js';

/** Of what other software holds. */
const NO_TOKEN = 'none';

export const breakLock: Command = {
  summary: 'free a lock that is stuck, whoever holds it',
  help: `Usage: nestjs-distributed-lock break KEY --token T [--yes]

Frees a lock although it is held; whoever waits gets it. It does not stop the work of the holder, who is told
when its process listens or renews the lock: be sure that the holder is gone, or that what it writes is checked
by fencing tokens. Of readers and of a semaphore it ends that one hold.

  --token T            the token of the hold, as show and list tell it; if another one is current, nothing is
                       broken. "${NO_TOKEN}" for a lock that other software holds
  --yes                don't ask; needed where there is no terminal to ask at

Exit codes: 0 broken; 1 not broken: free, another token, or not confirmed; 64 usage; 69 the store can't be asked.`,
  options: { token: { type: 'string' }, yes: { type: 'boolean', short: 'y' } },

  async run(context) {
    const { args } = context;
    const key = args.key();
    const token = tokenOf(args.text('token'));
    const asks = !args.flag('yes');
    if (asks && !(isatty(0) && isatty(2))) {
      throw new UsageError('There is no terminal to ask at: add --yes to break the lock.');
    }
    return await withLocks(context, (open) => breakIt(context, open, { key, token, asks }));
  },
};

interface Wish {
  readonly key: string;
  readonly token: string;
  readonly asks: boolean;
}

async function breakIt(context: CommandContext, { locks }: OpenLocks, wish: Wish): Promise<number> {
  const { key, token, asks } = wish;
  const shown = printable(key);
  const lock = await locks.inspect(key);
  if (lock === null) return refused(context, 'free', `${shown} is free; there is nothing to break.`, null);
  const holder = holderWith(lock, token);
  if (holder === undefined) return notThere(context, wish, lock);
  const broken = { ...lock, ...holder, holders: [holder] };
  if (asks) {
    const question = `${held(broken)}\nBreak the lock ${shown}? The holder's work goes on. [y/N] `;
    if (!(await confirmed(question))) return refused(context, 'declined', 'Nothing was broken.', lock);
  }
  // That took its time: the store looks whether it is still that hold.
  const outcome = await locks.breakHold(key, { owner: holder.owner, token: holder.token });
  if (outcome === 'free') {
    return refused(context, 'free', `${shown} was given back just now; there was nothing to break.`, null);
  }
  if (outcome === 'held-by-others') return notThere(context, wish, await locks.inspect(key));
  const { output } = context;
  if (output.json) output.document({ broken: true, lock: lockDocument(broken, Date.now()) });
  else output.lines(`${shown} was broken.`, ...held(broken).split('\n'), ...othersIn(lock));
  return EXIT.ok;
}

/** @param lock as it is now */
function notThere(context: CommandContext, { key, token }: Wish, lock: LockInfo | null): number {
  const message = `${printable(key)} is not held under token ${token}, so nothing was broken.`;
  return refused(context, 'token', lock === null ? message : `${message}\n${held(lock)}`, lock);
}

/** Of readers and of a semaphore, that the others go on. */
function othersIn({ holders }: LockInfo): readonly string[] {
  const others = holders.length - 1;
  return others === 0 ? [] : [`  ${others === 1 ? '1 other holds' : `${others} others hold`} it still`];
}

function refused(
  { output }: CommandContext,
  reason: 'free' | 'token' | 'declined',
  message: string,
  lock: LockInfo | null,
): number {
  if (output.json) {
    output.document({ broken: false, reason, lock: lock === null ? null : lockDocument(lock, Date.now()) });
  } else output.lines(...message.split('\n'));
  return EXIT.no;
}

function held({ holders }: LockInfo): string {
  const now = Date.now();
  return holders.map((holder) => `  held by  ${holderText(holder, now)}`).join('\n');
}

function holderWith({ holders }: LockInfo, wanted: string): LockHolder | undefined {
  return holders.find(({ token }) => String(token ?? NO_TOKEN) === wanted);
}

function tokenOf(text: string | undefined): string {
  if (text !== undefined && (text === NO_TOKEN || /^\d{1,16}$/.test(text))) return text;
  throw new UsageError('Give --token T, the token of the hold to break, as show and list tell it.');
}
