import { foundIn } from '../protocol/replies.js';
import type { AskRequest, Grant, WallClockMs } from '../../port/lock-store.js';
import type { Call, Condition } from '../protocol/requests.js';
import { hasRoom } from './entry.js';
import type { TransactionParts } from './transaction-parts.js';
import type { LockContext } from './lock-context.js';
import { rangeOf, type LockReader, type LockState } from './lock-reader.js';
import type { OwnEntries } from './own-entries.js';

/** etcd takes 128 conditions in a transaction by default, and a lock has two. */
const MOST_LOCKS = 60;
const MOST_TRIES = 10;

/** Grants several locks to one caller, all or none, in one transaction. */
export class MultiAcquirer {
  constructor(
    private readonly context: LockContext,
    private readonly reader: LockReader,
    private readonly ownEntries: OwnEntries,
    private readonly parts: TransactionParts,
  ) {}

  async takeAll(requests: readonly AskRequest[]): Promise<readonly Grant[] | number | null> {
    if (requests.length > MOST_LOCKS) return null;
    const keys = requests.map(({ key }) => key);
    return await this.context.turns.runAll(keys, async () => {
      let states: readonly LockState[] | undefined;
      for (let tries = 0; tries < MOST_TRIES; tries++) {
        const taken = await this.attempt(keys, requests, states);
        if (!('states' in taken)) return taken.grants;
        if (taken.cancelled !== -1) return taken.cancelled;
        states = taken.states;
        const refused = await this.firstRefused(requests, states);
        if (refused !== undefined) return refused;
      }
      return null;
    });
  }

  /** @param states what is known of each; undefined if they are expected to be free */
  private async attempt(
    keys: readonly string[],
    requests: readonly AskRequest[],
    states: readonly LockState[] | undefined,
  ): Promise<{ grants: readonly Grant[] } | { states: readonly LockState[]; cancelled: number }> {
    const { context, parts } = this;
    const { names, base, client, transactions, leases } = context;
    const locks = keys.map((key) => names.lock(key));
    const tombstones = requests.map(({ key, owner }) => names.tombstone(key, owner));
    const since = Date.now() as WallClockMs;
    const conditions: Condition[] = [base.condition];
    const puts: Call[] = [];
    const leaseIds: number[] = [];
    for (const [index, request] of requests.entries()) {
      const lock = names.lock(request.key);
      const state = states?.[index];
      const range = { key: lock.start, end: lock.end };
      conditions.push(
        state === undefined || state.entries.length === 0
          ? { ...range, created: 0 }
          : { ...range, modified: state.revision, orBefore: true },
        { key: names.tombstone(request.key, request.owner), created: 0 },
      );
      const leaseId = leases.at(request.lease) ?? (await leases.for(request.lease));
      leaseIds.push(leaseId);
      puts.push(parts.put(lock, request, leaseId, since));
    }
    const sentAt = client.now();
    const { revision, reply } = await transactions.run(keys, {
      do: 'txn',
      if: conditions,
      then: puts,
      else: [
        ...locks.map(rangeOf),
        ...tombstones.map((key): Call => ({ do: 'range', key, countOnly: true })),
        base.range,
      ],
    });
    if (reply.succeeded) {
      const grants = requests.map((request, index): Grant => {
        const entry = this.ownEntries.add(
          locks[index] ?? names.lock(request.key),
          request,
          revision,
          revision,
          leaseIds[index] ?? 0,
        );
        entry.since = since;
        entry.isKept = parts.isKept(request);
        this.ownEntries.granted(entry, revision, request.lease);
        return this.ownEntries.grantOf(entry, 1, false);
      });
      return { grants };
    }
    const { replies } = reply;
    if (!base.learn(foundIn(replies[2 * keys.length]))) await base.found();
    const found = locks.map((lock, index) =>
      this.reader.stateOf(lock, foundIn(replies[index]), revision, sentAt),
    );
    const cancelled = tombstones.findIndex((_, index) => {
      const tombstone = replies[keys.length + index];
      return tombstone?.do === 'range' && tombstone.count > 0;
    });
    return { states: found, cancelled };
  }

  /** The first that is not to be had at once. */
  private async firstRefused(
    requests: readonly AskRequest[],
    states: readonly LockState[],
  ): Promise<number | undefined> {
    const { context, reader } = this;
    for (const [index, { key, owner, limit }] of requests.entries()) {
      const { entries = [] } = states[index] ?? {};
      if (await reader.endOverdue(context.names.lock(key), entries)) return undefined;
      if (!hasRoom(entries, limit) || entries.some((entry) => entry.owner === owner)) return index;
    }
    return undefined;
  }
}
