import { setTimeout as elapse } from 'node:timers/promises';
import { LockUnavailableError } from '../../model/lock.errors.js';
import { withLocks, type Command, type CommandContext } from '../command.js';
import { EXIT } from '../exit-codes.js';
import { parseDuration } from '../output/durations.js';
import { holderText, lockDocument } from '../output/lock-views.js';
import { printable } from '../output/printable.js';
import { heldLocks } from '../place/held-locks.js';
import type { OpenLocks } from '../place/open-locks.js';
import { UsageError } from '../usage-error.js';
import { LockChanges, type LockChange } from './lock-changes.js';

const SHORTEST_INTERVAL = 100;

export const watch: Command = {
  summary: 'what happens to a lock, or to all',
  help: `Usage: nestjs-distributed-lock watch [KEY] [--match GLOB] [--interval 1s]

Writes a line for each change of a lock, or of all: held, passed to another hold, free, more or fewer waiting. It
looks at the store once in a while, so that what comes and goes between two looks is not seen. It goes on until it
is interrupted or nobody reads any more, also while the store can't be asked; if that is so at the beginning, it
ends.

  --match GLOB         without KEY: only keys that look like this: * stands for any characters, ? for one
  --interval DURATION  time between two looks, from 100ms (default 1s for a KEY, 5s without)

With --json each line is a document: at, event (held, passed, free, waiting, unavailable, available), key, lock.

Exit codes: 0 nobody reads any more; 64 usage; 69 the store can't be asked at the beginning.`,
  options: { match: { type: 'string' }, interval: { type: 'string' } },

  async run(context) {
    const { args } = context;
    const key = args.positionals.length === 0 ? undefined : args.key();
    if (key !== undefined && args.has('match')) throw new UsageError('Give KEY or --match, not both.');
    const interval = parseDuration('interval', args.text('interval') ?? (key === undefined ? '5s' : '1s'));
    if (interval < SHORTEST_INTERVAL) throw new UsageError('--interval must be 100ms or more.');
    return await withLocks(context, async (open) => {
      const match = args.text('match') ?? '*';
      const look = key === undefined ? () => all(heldLocks(open.locks, match)) : () => one(open, key);
      await watchFor(context, new LockChanges(key), look, interval);
      return EXIT.ok;
    });
  },
};

type Look = () => Promise<Parameters<LockChanges['next']>[0]>;

async function watchFor(
  { output }: CommandContext,
  changes: LockChanges,
  look: Look,
  interval: number,
): Promise<void> {
  let isAway = false;
  for (let looks = 1; !output.isClosed; looks += 1) {
    try {
      const found = await look();
      if (isAway) tell(output, { event: 'available' });
      isAway = false;
      for (const change of changes.next(found)) tell(output, change);
    } catch (error) {
      if (looks === 1 || !(error instanceof LockUnavailableError)) throw error;
      if (!isAway) tell(output, { event: 'unavailable', message: error.message });
      isAway = true;
    }
    await elapse(interval);
  }
}

async function one({ locks }: OpenLocks, key: string): ReturnType<Look> {
  const lock = await locks.inspect(key);
  return lock === null ? [] : [lock];
}

async function all(locks: ReturnType<typeof heldLocks>): ReturnType<Look> {
  const found = [];
  for await (const lock of locks) found.push(lock);
  return found;
}

type Told =
  LockChange | { readonly event: 'available' } | { readonly event: 'unavailable'; readonly message: string };

function tell(output: CommandContext['output'], told: Told): void {
  const now = Date.now();
  const at = new Date(now).toISOString();
  if (!('key' in told)) {
    if (output.json) output.document({ at, ...told });
    else
      output.lines(
        `${at}  ${told.event === 'available' ? 'the store answers again' : printable(told.message)}`,
      );
    return;
  }
  const { event, key, lock } = told;
  if (output.json) output.document({ at, event, key, lock: lock === null ? null : lockDocument(lock, now) });
  else output.lines(`${at}  ${printable(key)}  ${lineOf(told, now)}`);
}

function lineOf({ event, lock }: LockChange, now: number): string {
  if (lock === null) return 'free';
  const waiting = `${lock.waiting} waiting`;
  if (event === 'waiting') return waiting;
  const holders = lock.holders.map((holder) => holderText(holder, now)).join('; ');
  return `${event === 'held' ? 'held by' : 'passed to'} ${holders}, ${waiting}`;
}
