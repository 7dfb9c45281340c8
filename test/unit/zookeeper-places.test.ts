import { describe, expect, it } from '@jest/globals';
import type { AskRequest, MonotonicMs, OwnerId } from '../../lib/index.js';
import type { CallbackTimer, TimerQueue } from '../../lib/common/timer-queue.js';
import { Line } from '../../lib/stores/zookeeper/locks/line.js';
import { OwnPlaces, type OwnPlace } from '../../lib/stores/zookeeper/locks/own-places.js';
import { HoldRequests } from '../../lib/stores/zookeeper/requests/hold-requests.js';
import type { Holders } from '../../lib/stores/zookeeper/requests/holders.js';
import { LockAcquirer } from '../../lib/stores/zookeeper/requests/lock-acquirer.js';
import type { LockNodes } from '../../lib/stores/zookeeper/requests/lock-nodes.js';
import { PlaceLifetimes } from '../../lib/stores/zookeeper/requests/place-lifetimes.js';
import { newPlace } from '../../lib/stores/zookeeper/requests/place-words.js';
import { Watches } from '../../lib/stores/zookeeper/requests/watches.js';

const owner = 'a:1' as OwnerId;
const request: AskRequest = {
  ...{ key: 'key', owner, lease: 1_500, claimLease: 1_500, wait: true, callers: 1, tokens: 1 },
  ...{ contended: true, limit: 1, label: undefined },
};

/** A place of this client's at the head of a line, in a ZooKeeper that answers a write when the test says so. */
class Scene {
  readonly own = new OwnPlaces();
  readonly place: OwnPlace = newPlace(request, 'x-a:1-0000000001', '/key/x-a:1-0000000001', true);
  readonly deleted: string[] = [];
  answer: (stat: object) => void = () => {
    throw new Error('nothing was written');
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
    client: { id: 'a', now: () => this.now, granted: () => undefined, askAgain: () => undefined },
    own: { tokens: { of: (zxid: number) => zxid * 128 } },
    paths: { ofKey: (key: string) => `/${key}` },
    pathOf: (key: string, name: string) => `/${key}/${name}`,
    isKept: () => false,
    line: () => Promise.resolve(new Line([this.place.name], 1)),
    write: () =>
      new Promise((resolve) => {
        this.answer = resolve;
      }),
    give: (path: string) => {
      this.deleted.push(path);
      return Promise.resolve(true);
    },
  } as unknown as LockNodes;
  readonly lifetimes = new PlaceLifetimes(this.nodes, this.own, this.timers);
  readonly acquirer = new LockAcquirer(
    this.nodes,
    this.own,
    {} as Holders,
    new Watches(() => undefined),
    this.lifetimes,
  );
  readonly holds = new HoldRequests(this.nodes, this.own, this.lifetimes);

  constructor() {
    this.own.add(this.place);
  }

  /** Time passes, and whatever is due then happens. */
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

describe('a place of ZooKeeper whose end comes while it is written that it holds the lock', () => {
  it('is not deleted when that grants the lock to whoever waited', async () => {
    const scene = new Scene();
    scene.lifetimes.heardOf(scene.place);
    const asked = scene.acquirer.ask(request);
    // As of a process that stood still.
    await scene.pass(4_000);
    scene.answer({ stat: written });
    expect(await asked).toMatchObject({ outcome: 'granted', token: 7 * 128 });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
    await scene.pass(2_000);
    expect(scene.deleted).toEqual([scene.place.path]);
  });

  it('is not deleted when that renews the lease', async () => {
    const scene = new Scene();
    scene.lifetimes.hold(scene.place, 6, 1, 1_500, false);
    const renewed = scene.holds.renew([{ key: 'key', owner, lease: 1_500 }]);
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await renewed).toEqual(['renewed']);
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is not deleted when that reserves tokens', async () => {
    const scene = new Scene();
    scene.lifetimes.hold(scene.place, 6, 1, 1_500, false);
    const reserved = scene.holds.reserve({ key: 'key', owner, lease: 1_500, tokens: 1 });
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await reserved).toMatchObject({ outcome: 'reserved' });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is not deleted when a pushed grant is claimed', async () => {
    const scene = new Scene();
    scene.lifetimes.hold(scene.place, 6, 1, 1_500, true);
    const asked = scene.acquirer.ask(request);
    await scene.pass(1_600);
    scene.answer({ stat: written });
    expect(await asked).toMatchObject({ outcome: 'granted' });
    await scene.pass(100);
    expect(scene.deleted).toEqual([]);
  });

  it('is deleted soon when the write has failed', async () => {
    const scene = new Scene();
    scene.lifetimes.heardOf(scene.place);
    const asked = scene.acquirer.ask(request);
    await scene.pass(4_000);
    scene.answer(Promise.reject(new Error('cut')));
    await expect(asked).rejects.toThrow();
    await scene.pass(100);
    expect(scene.deleted).toEqual([scene.place.path]);
  });
});
