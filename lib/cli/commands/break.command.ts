import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import type { LockHolder, LockInfo } from '../../model/lock-info.js';
import { withLocks, type Command, type CommandContext, type OpenLocks } from '../common/command.js';
import { EXIT, UsageError } from '../common/exit-codes.js';
import { holderLines, lockDocument } from '../common/lock-views.js';
import { printable } from '../common/output.js';

/** Stands for the missing token of a lock that other software holds. */
const NO_TOKEN = 'none';

export const breakLock: Command = {
  summary: 'break a stuck lock, whichever process holds it',
  help: `Usage: nestjs-distributed-lock break KEY --token T [--yes]

Breaks a held lock; the next waiter acquires it. This does not stop the work of the holder, which is notified
when its process listens or renews the lock: make sure that the holder is gone, or that its writes are checked
by fencing tokens. For read locks and semaphores, it ends only the one hold.

  --token T            the token of the hold, as show and list print it; if another one is current, nothing is
                       broken. "${NO_TOKEN}" for a lock that other software holds
  --yes                don't ask for confirmation; required without a terminal

Exit codes: 0 broken; 1 not broken: free, another token, or not confirmed; 64 usage; 69 the store is unavailable.`,
  options: { token: { type: 'string' }, yes: { type: 'boolean', short: 'y' } },

  async run(context) {
    const { args } = context;
    const key = args.key();
    const token = tokenOf(args.text('token'));
    const asks = !args.flag('yes');
    if (asks && !(isatty(0) && isatty(2))) {
      throw new UsageError('There is no terminal for the confirmation: add --yes to break the lock.');
    }
    return await withLocks(context, (open) => breakIt(context, open, { key, token, asks }));
  },
};

interface Order {
  readonly key: string;
  readonly token: string;
  /** Whether to ask for confirmation. */
  readonly asks: boolean;
}

async function breakIt(context: CommandContext, { admin }: OpenLocks, order: Order): Promise<number> {
  const { key, token, asks } = order;
  const shown = printable(key);
  const lock = await admin.inspect(key);
  if (lock === null) return refused(context, 'free', `${shown} is free; there is nothing to break.`, null);
  const holder = lock.holders.find((one) => String(one.token ?? NO_TOKEN) === token);
  if (holder === undefined) return notHeldUnder(context, order, lock);
  const broken = { ...lock, ...holder, permits: lock.permits, holders: [holder] };
  if (asks) {
    const question = `${heldBy(broken)}\nBreak the lock ${shown}? The holder's work continues. [y/N] `;
    if (!(await confirmed(question))) return refused(context, 'declined', 'Nothing was broken.', lock);
  }
  // The confirmation took time: the store compares the hold again, in the step that breaks it.
  const outcome = await admin.breakHold(key, holder);
  if (outcome === 'free') {
    return refused(
      context,
      'free',
      `${shown} was released in the meantime; there was nothing to break.`,
      null,
    );
  }
  if (outcome === 'held-by-others') return notHeldUnder(context, order, await admin.inspect(key));
  const { output } = context;
  if (output.json) output.document({ broken: true, lock: lockDocument(broken, Date.now()) });
  else {
    const others = lock.holders.length - 1;
    const rest = `  ${others} other ${others === 1 ? 'holder keeps' : 'holders keep'} it`;
    output.lines(`${shown} was broken.`, heldBy(broken), ...(others === 0 ? [] : [rest]));
  }
  return EXIT.ok;
}

/** @param lock its current state */
function notHeldUnder(context: CommandContext, { key, token }: Order, lock: LockInfo | null): number {
  const message = `${printable(key)} is not held under token ${token}, so nothing was broken.`;
  return refused(context, 'token', lock === null ? message : `${message}\n${heldBy(lock)}`, lock);
}

function refused(
  { output }: CommandContext,
  reason: 'free' | 'token' | 'declined',
  message: string,
  lock: LockInfo | null,
): number {
  if (output.json) output.document({ broken: false, reason, lock: lockDocument(lock, Date.now()) });
  else output.lines(message);
  return EXIT.no;
}

function heldBy({ holders }: { readonly holders: readonly LockHolder[] }): string {
  return holderLines(holders, Date.now()).join('\n');
}

function tokenOf(text: string | undefined): string {
  if (text !== undefined && (text === NO_TOKEN || /^\d{1,16}$/.test(text))) return text;
  throw new UsageError('Give --token T, the token of the hold to break, as show and list print it.');
}

/** Asks on stderr, since stdout is for results. Anything but y or yes, and the end of the input, means no. */
function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise((resolve) => {
    const answer = (text: string): void => {
      resolve(/^y(es)?$/i.test(text.trim()));
      terminal.close();
    };
    terminal.on('close', () => resolve(false));
    terminal.on('SIGINT', () => answer(''));
    terminal.question(question, answer);
  });
}
