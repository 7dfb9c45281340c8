import { afterEach, describe, expect, it } from '@jest/globals';
import {
  LockClosedError,
  LockStoreError,
  MemoryLockStore,
  type LockHandle,
  type LockStore,
} from '../../lib/index.js';
import { lineUp, patient } from '../support/hand-over.js';
import { inVirtualTime } from '../support/in-virtual-time.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { blockEventLoop, elapse, until, within } from '../support/until.js';

inVirtualTime();

/** A store whose answers about further turns come when the test wants them. */
class HesitantStore implements LockStore {
  readonly name = 'a store that hesitates';
  /** How often a lock was given back. */
  releases = 0;
  /** How long giving a lock back takes, ms. */
  releaseTakes = 0;
  private readonly memory = new MemoryLockStore();
  private hesitating: 'to ask' | 'to reply' | undefined;
  private gate = Promise.resolve();
  private endGate: ((error?: LockStoreError) => void) | undefined;

  readonly open: LockStore['open'] = (client) => {
    const session = this.memory.open(client);
    const reserve = session.reserve?.bind(session);
    if (reserve === undefined) throw new Error('the memory store reserves');
    const release = session.release.bind(session);
    return Object.assign(session, {
      reserve: (request: Parameters<typeof reserve>[0]) =>
        this.hesitating === 'to ask'
          ? this.gate.then(() => reserve(request))
          : reserve(request).then((reply) => this.gate.then(() => reply)),
      release: (request: Parameters<typeof release>[0]) => {
        this.releases += 1;
        return this.releaseTakes === 0
          ? release(request)
          : elapse(this.releaseTakes).then(() => release(request));
      },
    });
  };

  hesitate(how: 'to ask' | 'to reply'): void {
    this.hesitating = how;
    this.gate = new Promise((resolve, reject) => {
      this.endGate = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  }

  answer(error?: LockStoreError): void {
    this.endGate?.(error);
    this.hesitating = undefined;
    this.gate = Promise.resolve();
  }
}

/** A machine that stands still for longer than a process keeps its lock is met with another try. */
const ATTEMPTS = 20;
const CALLERS = 40;

describe('a lease between two holds', () => {
  const apps: LockApp[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())));

  interface Scene {
    readonly store: HesitantStore;
    readonly app: LockApp;
    readonly other: LockApp;
    readonly key: string;
    readonly tokens: number[];
    readonly abort: AbortController;
    /** The callers who have not had the lock yet, and those who have. */
    readonly all: Promise<PromiseSettledResult<void>[]>;
    /** A caller of another process, if one was asked for. */
    readonly stranger: Promise<LockHandle> | undefined;
  }

  interface Setting {
    readonly withStranger?: boolean;
    readonly watchdogTimeout?: number;
    readonly hesitation?: 'to ask' | 'to reply';
    readonly waitTime?: number;
    /** Whether the process has a place in the store's queue already, for a caller who is gone. */
    readonly withPlace?: boolean;
  }

  /**
   * A process whose callers have used up their turns while the store hesitates to tell whether they may have more. The
   * lease rests: no hold lives on it.
   */
  async function resting({
    withStranger = false,
    watchdogTimeout = 30_000,
    hesitation = 'to ask',
    withPlace = false,
    waitTime = patient.waitTime,
  }: Setting = {}): Promise<Scene> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const store = new HesitantStore();
      const [app, other] = [
        await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 500 }),
        await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 500 }),
      ];
      apps.push(app, other);
      const key = 'key';
      const goneEarly = new AbortController();
      const waiters = [withPlace ? { signal: goneEarly.signal } : {}];
      // The process may keep the lock for 50 ms from when it last heard that nobody waits: not since the grant.
      const { first, waits } = await lineUp(app, key, waiters, { after: withPlace ? 20 : 0 });
      if (withPlace) {
        const fixed = new AbortController();
        const needy = app.locks.acquire(key, { ...patient, leaseTime: 60_000, signal: fixed.signal });
        waits.push(app.locks.acquire(key, patient));
        goneEarly.abort('enough');
        fixed.abort('enough');
        await Promise.allSettled([waits.shift(), needy]);
      }
      const tokens = [first.token];
      const abort = new AbortController();
      const served = Array.from({ length: CALLERS }, () =>
        app.locks.withLock(key, { waitTime, signal: abort.signal }, ({ token }) => void tokens.push(token)),
      );
      const all = Promise.allSettled(served);
      const stranger = withStranger ? other.locks.acquire(key, patient) : undefined;
      if (withStranger) await queuedIn(other, key);
      store.hesitate(hesitation);
      await first.release();
      const second = await waits[0];
      tokens.push(second?.token ?? 0);
      // Runs through all turns that there are before it returns to the event loop.
      await second?.release();
      await new Promise((resolve) => setImmediate(resolve));
      if (tokens.length < CALLERS && store.releases === 0 && app.events('timeout').length === 0) {
        return { store, app, other, key, tokens, abort, all, stranger };
      }
      store.answer();
      await (await stranger)?.release();
      await all;
    }
    throw new Error('the lease never rested');
  }

  const fulfilled = { status: 'fulfilled', value: undefined };

  it('P20: passes on when the store has answered, without being given back', async () => {
    const { store, app, other, key, tokens, all } = await resting();
    expect(tokens.length).toBeGreaterThan(8);
    expect(await other.locks.isLocked(key)).toBe(true);
    expect(await app.locks.tryAcquire(key)).toBeNull();
    store.answer();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(store.releases).toBe(1);
    expect(tokens).toHaveLength(CALLERS + 2);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(await other.locks.isLocked(key)).toBe(false);
    // What happens to a lease that rests is no event of the hold before.
    const over = new Set<number>();
    for (const event of app.seen) {
      if (event.type === 'released') over.add(event.token);
      if (event.type === 'renewed') expect(over).not.toContain(event.token);
    }
    expect(over.size).toBe(CALLERS + 2);
  });

  it('P20: has no holder that inspect could tell', async () => {
    const { store, app, other, key, tokens, all } = await resting();
    const [here, there] = [await app.locks.inspect(key), await other.locks.inspect(key)];
    expect(here?.token).toBe(there?.token);
    expect(here?.token).toBe(tokens[0]);
    store.answer();
    await all;
  });

  it('P20, B10: is back in the store when its last caller hears that waiting was in vain', async () => {
    const { store, other, key, all } = await resting({ waitTime: 25 });
    store.releaseTakes = 10;
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
    expect(store.releases).toBe(1);
  });

  it('P20, B10: is given back once when the answer comes for callers whose time is over', async () => {
    const { store, other, key, all } = await resting({ waitTime: 25 });
    store.answer();
    blockEventLoop(26);
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(store.releases).toBe(1);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('P20: is given back when the store has not answered in time, and others have their turn', async () => {
    const { store, tokens, all, stranger } = await resting({ withStranger: true });
    const start = performance.now();
    const handle = await within(2_000, 'the other process', stranger ?? Promise.reject(new Error()));
    expect(performance.now() - start).toBeLessThan(500);
    expect(handle.token).toBeGreaterThan(Math.max(...tokens));
    expect(store.releases).toBe(1);
    store.answer();
    await handle.release();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(tokens).toHaveLength(CALLERS + 2);
  });

  it('P20: is given back in time as well if the process has a place in the queue', async () => {
    const { tokens, all, stranger } = await resting({ withStranger: true, withPlace: true });
    const before = tokens.length;
    const handle = await within(2_000, 'the other process', stranger ?? Promise.reject(new Error()));
    // Its place was before that of the other process.
    expect(tokens.length).toBeGreaterThan(before);
    expect(handle.token).toBeGreaterThan(Math.max(...tokens));
    await handle.release();
    expect(await within(5_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
  });

  it('P20: is given back when the store can’t be asked for more turns', async () => {
    const { store, other, key, tokens, all } = await resting();
    store.answer(new LockStoreError('no answer', { inDoubt: true, retryable: true }));
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(store.releases).toBeGreaterThanOrEqual(1);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('P20, F24: is given back at once when nobody waits for it any more', async () => {
    const { store, other, key, all, abort } = await resting();
    abort.abort('enough');
    expect(store.releases).toBe(1);
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
    store.answer();
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('P20: is given back when only a caller is left who needs a lease of its own', async () => {
    const { store, app, key, tokens, all, abort } = await resting();
    const fixed = app.locks.acquire(key, { ...patient, leaseTime: 60_000 });
    abort.abort('enough');
    await all;
    store.answer();
    const handle = await within(2_000, 'the caller with a leaseTime', fixed);
    await until('it has been claimed', () => handle.remaining > 50_000, { deadline: 1_000 });
    expect(handle.token).toBeGreaterThan(Math.max(...tokens));
    expect(store.releases).toBe(1);
    await handle.release();
  });

  it('B60: is given back when the application closes', async () => {
    const { store, app, other, key, all } = await resting();
    const closing = app.close();
    const outcomes = await within(400, 'the refusals', all);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: expect.any(LockClosedError) });
    store.answer();
    await within(400, 'the end', closing);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('B23: is lost without a word when it is released by force: there is no hold on it', async () => {
    const { store, app, other, key, tokens, all } = await resting();
    const before = tokens.length;
    expect(await other.locks.forceRelease(key)).toBe(true);
    store.answer();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(app.events('lost')).toEqual([]);
    expect(app.log.matching('was lost')).toEqual([]);
    // The lost lease, and the next one. The late answer is about a lease that is over: nothing is given back for it.
    expect(store.releases).toBe(2);
    expect(tokens.slice(before).every((token) => token > (tokens[before - 1] ?? 0))).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('B22, P34: is not passed on when the answer comes after its deadline', async () => {
    const { store, other, key, tokens, all } = await resting({
      watchdogTimeout: 300,
      hesitation: 'to reply',
    });
    const before = tokens.length;
    store.answer();
    blockEventLoop(320);
    const thief = await other.locks.tryAcquire(key);
    expect(thief?.token).toBeGreaterThan(tokens[before - 1] ?? 0);
    expect(tokens).toHaveLength(before);
    expect(thief?.isHeld).toBe(true);
    await thief?.release();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(tokens.slice(before).every((token) => token > (thief?.token ?? Infinity))).toBe(true);
  });
});
