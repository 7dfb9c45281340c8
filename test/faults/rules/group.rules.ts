import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockTimeoutError, LockUnavailableError, type LockHandle } from '../../../lib/index.js';
import { Endings } from '../../support/endings.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { LockApp, queuedIn } from '../../support/lock-app.js';
import { reached } from '../../support/reached.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { blockEventLoop, elapse, next, rejectionOf, until, within } from '../../support/until.js';
import { WorkerProcess } from '../../support/worker-process.js';
import type { ServerGroup } from '../scenes/server-group.js';

/** Longer than an election takes on a busy machine. */
const patient = { waitTime: 60_000 };

interface Settings {
  readonly ports?: readonly number[];
  readonly isBrief?: boolean;
  readonly watchdogTimeout?: number;
}

/** Faults of servers that replicate locks, for any store. */
export function groupFaults(start: () => Promise<ServerGroup>): void {
  let started: ServerGroup | undefined;
  const endings = new Endings();
  beforeAll(async () => {
    started = await start();
  }, 120_000);
  beforeEach(() => group().ready());
  afterAll(async () => {
    await started?.close();
  });

  const group = (): ServerGroup => {
    if (!started) throw new Error('the servers run only while tests run');
    return started;
  };
  const app = async ({ ports = group().ports, isBrief, ...settings }: Settings = {}): Promise<LockApp> => {
    const store = group().store(ports, isBrief);
    return endings.app(await LockApp.start({ store, shutdownTimeout: 50, ...settings }));
  };
  const before = async (port: number | undefined): Promise<TcpProxy> =>
    endings.until(await TcpProxy.before(port ?? 0));
  const beforeAny = (member = 0): Promise<TcpProxy> => {
    const { ports } = group();
    return before(ports[member % ports.length]);
  };
  const key = (): string => `key-${randomUUID()}`;
  /** Extends once; there may be no leader at that time. */
  const extended = (handle: LockHandle, ms: number): Promise<unknown> => reached(() => handle.extend(ms));

  it.each(['killed', 'stopped'] as const)(
    'F3: the leader is %s: every hold and every queue position is kept, and tokens grow',
    async (how) => {
      const [holder, waiter] = [await app(), await app()];
      const [held, free] = [key(), key()];
      const handle = await holder.locks.acquire(held);
      const more = await Promise.all(Array.from({ length: 50 }, () => holder.locks.acquire(key())));
      const waiting = waiter.locks.acquire(held, patient);
      await queuedIn(waiter, held);
      const bringBack = await group().loseLeader[how]();
      try {
        const other = await holder.locks.acquire(free, patient);
        expect(await reached(() => waiter.locks.isLocked(free))).toBe(true);
        await other.release();
        expect(handle.isHeld).toBe(true);
        await handle.release();
        const second = await within(60_000, 'the lock', waiting);
        expect(second.token).toBeGreaterThan(handle.token);
        await second.release();
        for (const outcome of await Promise.all(more.map((hold) => hold.release())))
          expect(outcome).toBe('released');
        expect(holder.events('lost')).toEqual([]);
      } finally {
        await bringBack();
      }
    },
  );

  it('F3: a client that is cut off from its member continues with another one', async () => {
    const { ports } = group();
    // A single address already leads to all members.
    if (ports.length === 1) return;
    const proxies = [];
    for (const port of ports) proxies.push(await before(port));
    const [one, other] = [await app({ ports: proxies.map(({ port }) => port) }), await app()];
    const held = key();
    const handle = await one.locks.acquire(held);
    const [used] = proxies.filter(({ connections }) => connections.length > 0);
    for (const connection of used?.connections ?? []) connection.swallow('replies');
    await used?.refuse();
    await extended(handle, 35_000);
    expect(handle.isHeld).toBe(true);
    expect(await other.locks.tryAcquire(held)).toBeNull();
    expect(await handle.release()).toBe('released');
    await (await other.locks.acquire(held, patient)).release();
  });

  it('B11, F15: without a majority locks are unavailable and holds end in time; with a majority again locks work', async () => {
    const one = await app({ watchdogTimeout: 3_000 });
    // Of a member that goes on.
    const other = await app({ ports: group().ports.slice(-1) });
    const [held, free] = [key(), key()];
    const handle = await one.locks.acquire(held);
    const bringBack = await group().loseMajority();
    try {
      const refused = rejectionOf(other.locks.acquire(free, { waitTime: 4_500 }));
      await elapse(100);
      // The servers report the loss of the majority before this process knows that its request has timed out.
      blockEventLoop(2_500);
      expect(await refused).toBeInstanceOf(LockUnavailableError);
      await until('the hold is lost', () => handle.signal.aborted);
      expect(handle.isHeld).toBe(false);
    } finally {
      await bringBack();
    }
    const second = await within(60_000, 'the lock', other.locks.acquire(held, patient));
    expect(second.token).toBeGreaterThan(handle.token);
    await second.release();
    await (await one.locks.acquire(free, patient)).release();
  });

  it('F1: a member that comes back without its data has every held lock', async () => {
    const one = await app();
    const held = key();
    const handle = await one.locks.acquire(held);
    const port = await group().emptyMember();
    await extended(handle, 35_000);
    const other = await app({ ports: [port] });
    expect(await reached(() => other.locks.tryAcquire(held))).toBeNull();
    expect((await other.admin.inspect(held))?.token).toBe(handle.token);
    expect(await handle.release()).toBe('released');
    const second = await other.locks.acquire(held, patient);
    expect(second.token).toBeGreaterThan(handle.token);
    await second.release();
  });

  it('F20: a silent holder: the next waiter has the lock after one lease', async () => {
    const proxy = await beforeAny();
    const lost = await app({ ports: [proxy.port], watchdogTimeout: 2_000 });
    const waiter = await app();
    const held = key();
    const handle = await lost.locks.acquire(held);
    const waiting = waiter.locks.acquire(held, patient);
    await queuedIn(waiter, held);
    await proxy.refuse();
    proxy.cut();
    const second = await within(60_000, 'the lock', waiting);
    // The former holder has known it for some time.
    expect(handle.isHeld).toBe(false);
    await second.release();
  });

  it('F21: five silent waiters don’t cost one claim lease each', async () => {
    const proxy = await beforeAny();
    const holder = await app();
    const held = key();
    const handle = await holder.locks.acquire(held);
    for (let count = 0; count < 5; count++) {
      const gone = await app({ ports: [proxy.port], isBrief: true, watchdogTimeout: 2_500 });
      gone.locks.acquire(held, patient).catch(() => undefined);
      await queuedIn(gone, held);
    }
    const waiter = await app();
    const waiting = waiter.locks.acquire(held, patient);
    await queuedIn(waiter, held);
    await proxy.refuse();
    proxy.cut();
    // The servers keep the positions of silent clients until their leases or sessions end.
    await until(
      'the silent waiters are removed',
      async () => (await holder.admin.inspect(held))?.waiting === 1,
      {
        deadline: 30_000,
        every: 100,
      },
    );
    await handle.release();
    await (await within(5_000, 'the lock', waiting)).release();
  });

  it('F22: a process that was stopped until its session ended knows that its hold is lost, and can acquire again', async () => {
    const other = await app();
    const held = key();
    const earlier = await group().sessions();
    const options = { ...group().options(group().ports, true), watchdogTimeout: 1_000 };
    const worker = await WorkerProcess.start(options);
    endings.until({ close: () => worker.kill() });
    const token = await worker.do('acquire', { key: held, as: 'hold' });
    const own = (await group().sessions()).filter((session) => !earlier.includes(session));
    expect(own).not.toEqual([]);
    worker.stop();
    const hasEnded = async (): Promise<boolean> => {
      const sessions = await group().sessions();
      return own.every((session) => !sessions.includes(session));
    };
    await until('its session has ended', hasEnded, { deadline: 60_000, every: 50 });
    const second = await other.locks.acquire(held, patient);
    expect(second.token).toBeGreaterThan(token);
    worker.resume();
    expect(await worker.do('status', { as: 'hold' })).toMatchObject({ isHeld: false, asserted: 'LOCK_LOST' });
    await worker.do('release', { as: 'hold' });
    expect(second.isHeld).toBe(true);
    expect(await other.locks.isLocked(held)).toBe(true);
    expect(await second.release()).toBe('released');
    const again = await worker.do('acquire', { key: held, options: patient, as: 'again' });
    expect(again).toBeGreaterThan(second.token);
    expect(await worker.do('release', { as: 'again' })).toBe('released');
    expect(worker.unhandled).toEqual([]);
  });

  it('F2: requests that are delayed until the lease of their client has expired change nothing when they arrive', async () => {
    const proxy = await beforeAny(2);
    const asleep = await app({ ports: [proxy.port], watchdogTimeout: 1_000 });
    const other = await app();
    const held = key();
    const handle = await asleep.locks.acquire(held, { leaseTime: 1_500 });
    const deliver = proxy.hold('requests');
    const second = await within(60_000, 'the lock', other.locks.acquire(held, patient));
    expect(handle.isHeld).toBe(false);
    deliver();
    await handle.release();
    expect(second.isHeld).toBe(true);
    expect(await rejectionOf(asleep.locks.acquire(held, { waitTime: 1_000 }))).toBeInstanceOf(
      LockTimeoutError,
    );
    await second.release();
    await (await asleep.locks.acquire(held, patient)).release();
  });

  it('F25: fifty applications whose connections are all cut: each is served, one at a time', async () => {
    const proxy = await beforeAny(1);
    const many = await Promise.all(Array.from({ length: 50 }, () => app({ ports: [proxy.port] })));
    const held = key();
    const witness = new ExclusionWitness();
    let served = 0;
    const calls = many.map(({ locks }) =>
      locks.withLock(held, patient, async () => {
        witness.enter();
        await elapse(2);
        witness.leave();
        served += 1;
      }),
    );
    await until('some are served', () => served > 3);
    expect(proxy.cut()).toBeGreaterThan(0);
    await Promise.all(calls);
    expect({ most: witness.most, served }).toEqual({ most: 1, served: 50 });
  });

  it('no event reports a loss while the leader changes five times', async () => {
    const one = await app();
    const handle = await one.locks.acquire(key());
    for (let round = 0; round < 5; round++) {
      const bringBack = await group().loseLeader.killed();
      const renewed = next(one.locks.events, (event) => event.type === 'renewed', 60_000);
      await within(60_000, 'a renewal', Promise.all([renewed, extended(handle, 34_000 + round * 500)]));
      await bringBack();
    }
    expect(handle.isHeld).toBe(true);
    expect(await handle.release()).toBe('released');
    expect(one.events('lost')).toEqual([]);
  });
}
