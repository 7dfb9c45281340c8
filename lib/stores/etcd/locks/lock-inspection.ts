import { Glob } from '../../../common/glob.js';
import type { ListedKeys, ListKeysRequest, StoredLock } from '../../port/lock-store.js';
import { checkCursor } from '../../port/store-failure.js';
import { methods } from '../protocol/methods.js';
import { holdersIn, type Entry } from './entry.js';
import type { LockContext } from './lock-context.js';
import type { LockReader } from './lock-reader.js';

/** How long a holder has time to write the token of a grant that was pushed to it, ms. */
const PATIENCE = 100;
const PAUSE = 5;

/** Tells who holds a lock, and who waits for it. */
export class LockInspection {
  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
  ) {}

  async inspect(key: string): Promise<StoredLock | null> {
    const { client, turns, names, timers } = this.context;
    const lock = names.lock(key);
    const until = client.now() + PATIENCE;
    for (;;) {
      const { entries } = await turns.run(key, () => this.reader.readLiving(lock));
      const isKnown = holdersIn(entries).every((entry) => this.reader.knownTokenOf(entry) !== undefined);
      if (isKnown || client.now() >= until) return this.told(entries);
      // Ends also with the session, and so does the next look then.
      await timers.timers.within(PAUSE, new Promise(() => undefined));
    }
  }

  /** Those with holders or waiters, in the order of their names. */
  async listKeys({ match, cursor, count }: ListKeysRequest): Promise<ListedKeys> {
    const { connection, names } = this.context;
    checkCursor(cursor === undefined || names.isEntry(cursor));
    const { start, end } = names.locks;
    // The first name after the last of the answer before.
    const key = cursor === undefined ? start : `${cursor}\0`;
    const { reply } = await connection.call(methods.range, {
      do: 'range',
      key,
      end,
      limit: count,
      keysOnly: true,
      serializable: false,
    });
    const found = reply.entries.map(({ key: name }) => name);
    const glob = new Glob(match);
    const keys = [...new Set(found.map((name) => names.keyOf(name)))].filter((each) => glob.matches(each));
    return { keys, cursor: found.length < count ? undefined : found.at(-1) };
  }

  private told(entries: readonly Entry[]): StoredLock | null {
    const [first] = entries;
    if (first === undefined) return null;
    const holders = holdersIn(entries);
    return {
      limit: first.limit,
      holders: holders.map((entry) => {
        const { owner, since, label } = entry;
        return {
          owner,
          token: this.reader.knownTokenOf(entry),
          since: this.reader.ownHoldOf(entry)?.since ?? since,
          leaseLeft: this.reader.leaseLeft(entry),
          label,
        };
      }),
      waiters: entries
        .slice(holders.length)
        .map(({ owner, callers, limit, label }) => ({ owner, callers, limit, label })),
    };
  }
}
