import { setTimeout as elapse } from 'node:timers/promises';
import type { LockInfo } from '../../model/lock-info.js';
import { LockUnavailableError } from '../../model/lock.errors.js';
import { parseDuration } from '../common/arguments.js';
import { heldLocks, withLocks, type Command, type OpenLocks } from '../common/command.js';
import { EXIT, UsageError } from '../common/exit-codes.js';
import { holderText, lockDocument } from '../common/lock-views.js';
import { printable, type Output } from '../common/output.js';

const SHORTEST_INTERVAL = 100;

export const watch: Command = {
  summary: 'watch the changes of a lock, or of all',
  help: `Usage: nestjs-distributed-lock watch [KEY] [--match GLOB] [--interval 1s]

Writes a line for each change of a lock, or of all: held, passed to another hold, free, more or fewer waiting. It
polls the store, so changes that are undone between two polls are not seen. It continues until it
is interrupted or its output is closed, even while the store is unavailable; if that is so at the beginning, it
ends.

  --match GLOB         without KEY: only keys that match: * stands for any characters, ? for one
  --interval DURATION  time between two polls, from 100ms (default 1s for a KEY, 5s without)

With --json each line is a document: at, event (held, passed, free, waiting, unavailable, available), key, lock.

Exit codes: 0 the output was closed; 64 usage; 69 the store is unavailable at the beginning.`,
  options: { match: { type: 'string' }, interval: { type: 'string' } },

  async run(context) {
    const { args } = context;
    const key = args.positionals.length === 0 ? undefined : args.key();
    if (key !== undefined && args.has('match')) throw new UsageError('Give KEY or --match, not both.');
    const interval = parseDuration('interval', args.text('interval') ?? (key === undefined ? '5s' : '1s'));
    if (interval < SHORTEST_INTERVAL) throw new UsageError('--interval must be 100ms or more.');
    return await withLocks(context, async (open) => {
      const match = args.text('match') ?? '*';
      const look = (): ReturnType<Look> => lookAt(open, key, match);
      await watchFor(context.output, new LockChanges(key), look, interval);
      return EXIT.ok;
    });
  },
};

type Look = () => Promise<readonly LockInfo[]>;

/** Reports changes until the output is closed. The store must reply to the first request; later it may be unreachable. */
async function watchFor(output: Output, changes: LockChanges, look: Look, interval: number): Promise<void> {
  let isUnavailable = false;
  for (let looks = 1; !output.isClosed; looks += 1) {
    try {
      const found = await look();
      if (isUnavailable) report(output, { event: 'available' });
      isUnavailable = false;
      for (const change of changes.next(found)) report(output, change);
    } catch (error) {
      if (looks === 1 || !(error instanceof LockUnavailableError)) throw error;
      if (!isUnavailable) report(output, { event: 'unavailable', message: error.message });
      isUnavailable = true;
    }
    await elapse(interval);
  }
}

async function lookAt({ admin }: OpenLocks, key: string | undefined, match: string): ReturnType<Look> {
  if (key !== undefined) {
    const lock = await admin.inspect(key);
    return lock === null ? [] : [lock];
  }
  const found = [];
  for await (const lock of heldLocks(admin, match)) found.push(lock);
  return found;
}

type Report =
  LockChange | { readonly event: 'available' } | { readonly event: 'unavailable'; readonly message: string };

function report(output: Output, what: Report): void {
  const now = Date.now();
  const at = new Date(now).toISOString();
  if (!('key' in what)) {
    const text = what.event === 'available' ? 'the store replies again' : printable(what.message);
    if (output.json) output.document({ at, ...what });
    else output.lines(`${at}  ${text}`);
    return;
  }
  const { event, key, lock } = what;
  if (output.json) output.document({ at, event, key, lock: lockDocument(lock, now) });
  else output.lines(`${at}  ${printable(key)}  ${changeText(what, now)}`);
}

function changeText({ event, lock }: LockChange, now: number): string {
  if (lock === null) return 'free';
  const waiting = `${lock.waiting} waiting`;
  if (event === 'waiting') return waiting;
  const holders = lock.holders.map((holder) => holderText(holder, now)).join('; ');
  return `${event === 'held' ? 'held by' : 'passed to'} ${holders}, ${waiting}`;
}

/** The change of a lock between two reads. */
export interface LockChange {
  readonly event: 'held' | 'passed' | 'free' | 'waiting';
  readonly key: string;
  /** The current state; null when the lock is free. */
  readonly lock: LockInfo | null;
}

/** Compares each read with the one before. */
export class LockChanges {
  private before: ReadonlyMap<string, LockInfo> | undefined;

  /** @param key the only watched key, which is reported at first even if it is free */
  constructor(private readonly key?: string) {}

  next(locks: readonly LockInfo[]): readonly LockChange[] {
    const now = new Map(locks.map((lock) => [lock.key, lock]));
    const known = this.before?.keys() ?? (this.key === undefined ? [] : [this.key]);
    const changes = locks.flatMap((lock) => changeOf(this.before?.get(lock.key), lock) ?? []);
    for (const key of known) if (!now.has(key)) changes.push({ event: 'free', key, lock: null });
    this.before = now;
    return changes;
  }
}

function changeOf(before: LockInfo | undefined, lock: LockInfo): LockChange | undefined {
  const { key, waiting } = lock;
  if (before === undefined) return { event: 'held', key, lock };
  if (holdsOf(before) !== holdsOf(lock)) return { event: 'passed', key, lock };
  return before.waiting === waiting ? undefined : { event: 'waiting', key, lock };
}

function holdsOf({ holders }: LockInfo): string {
  return holders.map(({ owner, token }) => `${owner} ${String(token)}`).join('\n');
}
