import { describe, expect, it } from '@jest/globals';
import { LockClosedError, MemoryLockStore } from '../../../lib/index.js';
import type { LockStore } from '../../../lib/stores/port/index.js';
import { lineUp, patient } from '../../support/hand-over.js';
import { inVirtualTime } from '../../support/in-virtual-time.js';
import { lockApps, queuedIn } from '../../support/lock-app.js';
import { blockEventLoop, elapse, within } from '../../support/until.js';

inVirtualTime();

/** A store whose replies to reservations the test controls. */
class HesitantStore implements LockStore {
  readonly name = 'a hesitant store';
  /** The number of releases. */
  releases = 0;
  /** Latency of a release, ms. */
  releaseTakes = 0;
  private readonly memory = new MemoryLockStore();
  private hesitating: 'to ask' | 'to reply' | undefined;
  private gate = Promise.resolve();
  private endGate: (() => void) | undefined;

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
    this.gate = new Promise((resolve) => (this.endGate = resolve));
  }

  answer(): void {
    this.endGate?.();
    this.hesitating = undefined;
    this.gate = Promise.resolve();
  }
}

const CALLERS = 40;

describe('a lease between two holds', () => {
  const start = lockApps({ shutdownTimeout: 500 });

  interface Setting {
    readonly withOtherCaller?: boolean;
    readonly watchdogTimeout?: number;
    readonly hesitation?: 'to ask' | 'to reply';
    readonly waitTime?: number;
  }

  /**
   * A process whose callers have used up the turn while the reply to its reservation is pending. The lease
   * rests: it has no hold.
   */
  async function resting({
    withOtherCaller = false,
    watchdogTimeout = 30_000,
    hesitation = 'to ask',
    waitTime = patient.waitTime,
  }: Setting = {}) {
    const store = new HesitantStore();
    const options = { store, watchdogTimeout };
    const [app, other] = [await start(options), await start(options)];
    const key = 'key';
    const { first, waits } = await lineUp(app, key);
    const tokens = [first.token];
    const abort = new AbortController();
    const served = Array.from({ length: CALLERS }, () =>
      app.locks.withLock(key, { waitTime, signal: abort.signal }, ({ token }) => void tokens.push(token)),
    );
    const all = Promise.allSettled(served);
    const otherCaller = withOtherCaller ? other.locks.acquire(key, patient) : undefined;
    if (withOtherCaller) await queuedIn(other, key);
    store.hesitate(hesitation);
    await first.release();
    const second = await waits[0];
    tokens.push(second?.token ?? 0);
    // All hand-overs of the turn happen before control returns to the event loop.
    await second?.release();
    await new Promise((resolve) => setImmediate(resolve));
    expect(tokens.length).toBeLessThan(CALLERS);
    expect(store.releases).toBe(0);
    return { store, app, other, key, tokens, abort, all, otherCaller };
  }

  const fulfilled = { status: 'fulfilled', value: undefined };

  it('P20: is handed over after the reply, without a release', async () => {
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
    // A renewal of a resting lease is no event of the previous hold.
    const over = new Set<number>();
    for (const event of app.seen) {
      if (event.type === 'released') over.add(event.token);
      if (event.type === 'renewed') expect(over).not.toContain(event.token);
    }
    expect(over.size).toBe(CALLERS + 2);
  });

  it('P20, B10: is released before its last caller rejects with a timeout', async () => {
    const { store, other, key, all } = await resting({ waitTime: 25 });
    store.releaseTakes = 10;
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
    expect(store.releases).toBe(1);
  });

  it('P20, B10: is released once if the reply arrives when the waitTime of all callers has ended', async () => {
    const { store, other, key, all } = await resting({ waitTime: 25 });
    store.answer();
    blockEventLoop(26);
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(store.releases).toBe(1);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('P20: is released if no reply arrives in time, and another process is served', async () => {
    const { store, tokens, all, otherCaller } = await resting({ withOtherCaller: true });
    const start = performance.now();
    const handle = await within(2_000, 'the other process', otherCaller ?? Promise.reject(new Error()));
    expect(performance.now() - start).toBeLessThan(500);
    expect(handle.token).toBeGreaterThan(Math.max(...tokens));
    expect(store.releases).toBe(1);
    store.answer();
    await handle.release();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(tokens).toHaveLength(CALLERS + 2);
  });

  it('P20, F24: is released at once when no caller waits for it any more', async () => {
    const { store, other, key, all, abort } = await resting();
    abort.abort('enough');
    expect(store.releases).toBe(1);
    const outcomes = await all;
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
    store.answer();
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('B60: is released when the application closes', async () => {
    const { store, app, other, key, all } = await resting();
    const closing = app.close();
    const outcomes = await within(400, 'the rejections', all);
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const outcome of refused) expect(outcome).toMatchObject({ reason: expect.any(LockClosedError) });
    store.answer();
    await within(400, 'the end', closing);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('B23: is lost without an event when it is broken by force, since it has no hold', async () => {
    const { store, app, other, key, tokens, all } = await resting();
    const before = tokens.length;
    expect(await other.admin.forceRelease(key)).toBe(true);
    store.answer();
    expect(await within(2_000, 'the callers', all)).toEqual(Array(CALLERS).fill(fulfilled));
    expect(app.events('lost')).toEqual([]);
    expect(app.log.matching('was lost')).toEqual([]);
    // The lost lease, and the next one. The late reply concerns an ended lease, and causes no release.
    expect(store.releases).toBe(2);
    expect(tokens.slice(before).every((token) => token > (tokens[before - 1] ?? 0))).toBe(true);
    expect(await other.locks.isLocked(key)).toBe(false);
  });

  it('B22, P34: is not handed over when the reply arrives after its deadline', async () => {
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
