import { describe, expect, it } from '@jest/globals';
import type { AcquireRequest, MonotonicMs, OwnerId } from '../../lib/stores/port/index.js';
import type { CallbackTimer, TimerQueue } from '../../lib/common/timer-queue.js';
import { NodeQueue } from '../../lib/stores/zookeeper/locks/layout.js';
import { LockAcquirer } from '../../lib/stores/zookeeper/locks/lock-acquirer.js';
import type { LockNodes } from '../../lib/stores/zookeeper/locks/lock-nodes.js';
import { OwnEntries } from '../../lib/stores/zookeeper/locks/own-entries.js';

const owner = 'a:1' as OwnerId;
const request: AcquireRequest = {
  ...{ key: 'key', owner, lease: 1_500, claimLease: 1_500, wait: true, callers: 1, tokens: 1 },
  ...{ contended: true, limit: 1, label: undefined },
};

const NAME = 'x-a:1-0000000001';

/** An entry of this client at the head of a queue, whose writes get a reply when the test calls `answer`. */
class Scene {
  readonly deleted: string[] = [];
  answer: (stat: object) => void = () => {
    throw new Error('there is no write');
  };
  private now = 1_000 as MonotonicMs;
  private due: CallbackTimer | undefined;
  private readonly timers = {
    set: (timer: CallbackTimer, time: MonotonicMs): void => {
      timer.dueAt = time;
      this.due = timer;
    },
    clear: (): void => {
      this.due = undefined;
    },
  } as unknown as TimerQueue;
  private readonly nodes = {
    client: { id: 'a', watchdogTimeout: 30_000, now: () => this.now },
    clientNodes: { tokenOf: (zxid: number) => zxid * 128 },
    queue: () => Promise.resolve(new NodeQueue('/key', [NAME], 1)),
    write: () =>
      new Promise((resolve) => {
        this.answer = resolve;
      }),
    remove: (path: string) => {
      this.deleted.push(path);
      return Promise.resolve(true);
    },
  } as unknown as LockNodes;
  readonly own = new OwnEntries(this.nodes, this.timers);
  readonly entry = this.own.add(request, `/key/${NAME}`, true);
  readonly acquirer = new LockAcquirer(this.nodes, this.own, this.timers);
  readonly holds = this.own;

  /** Advances the time, and fires a timer that is due. */
  async pass(ms: number): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.now = (this.now + ms) as MonotonicMs;
    const { due } = this;
    if (due === undefined || due.dueAt > this.now) return;
    this.due = undefined;
    due.fire(this.now);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const written = { mzxid: 7, mtime: 1, version: 2 };

describe('an entry of ZooKeeper that expires during a write', () => {
  it('is not deleted when the write grants the lock to its waiter', async () => {
    const scene = new Scene();
    scene.own.touch(scene.entry);
    const asked = scene.acquirer.acquire(request);
    // Like a process that was stalled.
    await scene.pass(4_000);
    scene.answer({ stat: written });
    expect(await asked).toMatchObject({ outcome: 'granted', token: 7 * 128 });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
    await scene.pass(2_000);
    expect(scene.deleted).toEqual([scene.entry.path]);
  });

  it('is not deleted when the write renews the lease', async () => {
    const scene = new Scene();
    scene.own.startHold(scene.entry, 6, 1, 1_500, false);
    const renewed = scene.holds.renew([{ key: 'key', owner, lease: 1_500 }]);
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await renewed).toEqual(['renewed']);
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is not deleted when the write reserves tokens', async () => {
    const scene = new Scene();
    scene.own.startHold(scene.entry, 6, 1, 1_500, false);
    const reserved = scene.holds.reserve({ key: 'key', owner, lease: 1_500, tokens: 1 });
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await reserved).toMatchObject({ outcome: 'reserved' });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is not deleted when the write claims a pushed grant', async () => {
    const scene = new Scene();
    scene.own.startHold(scene.entry, 6, 1, 1_500, true);
    const asked = scene.acquirer.acquire(request);
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await asked).toMatchObject({ outcome: 'granted' });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is deleted shortly after the write has failed', async () => {
    const scene = new Scene();
    scene.own.touch(scene.entry);
    const asked = scene.acquirer.acquire(request);
    await scene.pass(4_000);
    scene.answer(Promise.reject(new Error('cut')));
    await expect(asked).rejects.toThrow();
    await scene.pass(100);
    expect(scene.deleted).toEqual([scene.entry.path]);
  });
});

describe('watches of waiters on ZooKeeper', () => {
  const [first, second, mine] = ['x-b:1-0000000001', 'x-c:1-0000000002', 'x-a:1-0000000003'] as const;
  const own = (queues: readonly (readonly string[])[]) => {
    let reads = 0;
    const nodes = {
      client: { id: 'a', watchdogTimeout: 30_000, now: () => 0 },
      queue: () => Promise.resolve(new NodeQueue('/key', [...(queues[reads++] ?? queues.at(-1) ?? [])], 1)),
      watchEnd: (path: string) => Promise.resolve(path === `/key/${first}`),
      leaseLeft: () => Promise.resolve(1_000),
      write: () => Promise.resolve({ stat: { version: 1 } }),
      remove: () => Promise.resolve(true),
    } as unknown as LockNodes;
    const timers = { set: () => undefined, clear: () => undefined } as unknown as TimerQueue;
    const entries = new OwnEntries(nodes, timers);
    const entry = entries.add(request, `/key/${mine}`, true);
    return { entries, entry, acquirer: new LockAcquirer(nodes, entries, timers) };
  };

  it('are forgotten for a predecessor that left before it was watched', async () => {
    const { entries, acquirer, entry } = own([
      [first, second, mine],
      [first, mine],
    ]);
    expect(await acquirer.acquire(request)).toMatchObject({ outcome: 'queued' });
    expect([...entries.takeWatchers(`/key/${second}`)]).toEqual([]);
    expect([...entries.takeWatchers(`/key/${first}`)]).toEqual([entry]);
  });

  it('are forgotten with a waiter that leaves while its predecessor stays', async () => {
    const { entries, acquirer, entry } = own([[first, mine]]);
    expect(await acquirer.acquire(request)).toMatchObject({ outcome: 'queued' });
    await entries.remove(entry);
    expect([...entries.takeWatchers(`/key/${first}`)]).toEqual([]);
  });
});
