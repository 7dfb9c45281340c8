import { describe, expect, it } from '@jest/globals';
import type { LockStoreClient, MonotonicMs, StoredHold } from '../../lib/stores/port/index.js';
import { LockQueue, type OwnedEntry } from '../../lib/stores/ordered/lock-queue.js';
import { OrderedSession } from '../../lib/stores/ordered/ordered-session.js';
import { rejectionOf, until, within } from '../support/until.js';

const client = { now: () => 0 as MonotonicMs } as LockStoreClient;

/** A session that finds the same holders in each queue that it reads. */
class SessionOf extends OrderedSession<OwnedEntry> {
  reads = 0;
  isClosed = false;
  readonly broken: string[] = [];

  constructor(private readonly holders: readonly Partial<StoredHold>[]) {
    super(client);
  }

  close(): void {
    this.isClosed = true;
    this.timers.close();
  }

  protected queueOf(): Promise<LockQueue<OwnedEntry>> {
    this.reads += 1;
    if (this.isClosed) return Promise.reject(new Error('closed'));
    return Promise.resolve(new LockQueue(this.holders.map(({ owner = '' }) => ({ owner, limit: Infinity }))));
  }

  protected storedHold({ owner }: OwnedEntry): Promise<StoredHold | undefined> {
    return Promise.resolve(this.holders.find((hold) => hold.owner === owner) as StoredHold | undefined);
  }

  protected storedWaiter(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  protected breakEntry({ owner }: OwnedEntry): Promise<boolean> {
    return Promise.resolve(this.broken.push(owner) > 0);
  }
}

describe('a session of a store that keeps a queue for each lock', () => {
  it('ends inspecting when it closes, also while it waits for the token of a holder', async () => {
    const session = new SessionOf([{ owner: 'a:1' }]);
    const inspected = rejectionOf(session.inspect('key'));
    await until('it has looked', () => session.reads > 0);
    session.close();
    expect(await within(10_000, 'its end', inspected)).toEqual(new Error('closed'));
  });

  it('breaks the hold that is named, and no other', async () => {
    const session = new SessionOf([
      { owner: 'a:1', token: 1 },
      { owner: 'b:1', token: 2 },
    ]);
    expect(await session.breakHold('key', { token: 3 })).toBe('held-by-others');
    expect(await session.breakHold('key', { owner: 'a:1', token: 2 })).toBe('held-by-others');
    expect(session.broken).toEqual([]);
    expect(await session.breakHold('key', { token: 2 })).toBe('broken');
    expect(session.broken).toEqual(['b:1']);
    expect(await new SessionOf([]).breakHold('key', { token: 2 })).toBe('free');
  });
});
