import { setTimeout as elapse } from 'node:timers/promises';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { CallPlanner, LONGEST_LEASE } from './call-planner.mjs';
import { monotonic } from './monotonic.mjs';

const codeOf = (error) => error?.code ?? String(error?.message ?? error);

/** The callers of one process, which use all features of locks at random. */
export class Workload {
  holds = 0;
  #locks;
  #record;
  #settings;
  #random;
  #planner;
  #write;
  #ending = new AbortController();
  /** The current waiters, so that they can be aborted at the worst moment. */
  #waiting = new Map();
  ended = Promise.resolve();

  constructor({ locks, record, settings, random, write }) {
    this.#locks = locks;
    this.#record = record;
    this.#settings = settings;
    this.#random = random;
    this.#planner = new CallPlanner({ settings, random, record });
    this.#write = write;
  }

  start() {
    const callers = Array.from({ length: this.#settings.callers }, (_, index) => this.#caller(index));
    this.ended = Promise.all([...callers, this.#blocker()]);
  }

  /** Starts no further calls; waiters give up. */
  end() {
    this.#ending.abort();
    for (const { abort } of this.#waiting.values()) abort();
  }

  get #isEnding() {
    return this.#ending.signal.aborted;
  }

  async #caller(index) {
    const { keys } = this.#settings;
    while (!this.#isEnding) {
      // Most callers stay with one key: otherwise all would soon wait for the slowest.
      let number = this.#random.chance(0.9) ? index % keys : this.#random.between(0, keys - 1);
      if (this.#settings.shared && this.#random.chance(0.25)) number = keys + (index % 2);
      await this.#call(number);
      const pause = this.#planner.pauseAt(number);
      if (pause >= 0) await elapse(pause);
    }
  }

  /** Blocks the event loop now and then, sometimes for longer than a lease. */
  async #blocker() {
    const random = this.#random;
    while (!this.#isEnding) {
      await elapse(random.between(500, 4_000), undefined, { signal: this.#ending.signal }).catch(
        () => undefined,
      );
      if (this.#isEnding) return;
      const long = this.#settings.faults && random.chance(0.1);
      const end = monotonic() + (long ? random.between(200, 2_000) : random.between(5, 120));
      while (monotonic() < end);
    }
  }

  async #call(number) {
    const call = this.#planner.next(number);
    const { i, key, options, flavour, shared } = call;
    this.#record({
      e: 'invoke',
      i,
      k: key,
      w: options.waitTime === Infinity ? -1 : options.waitTime,
      l: options.leaseTime ?? 0,
      ...(options.fair && { f: 1 }),
      ...shared,
    });
    this.#waiting.set(i, call);
    const got = () => {
      clearTimeout(call.timer);
      this.#waiting.delete(i);
    };
    try {
      if (flavour === 'withLock') {
        await this.#locks.withLock(key, options, async (lock) => {
          got();
          await this.#section(call, lock, true);
          this.#observe('rel', call, lock);
        });
        this.#record({ e: 'rld', i, out: 'returned' });
        return;
      }
      const lock = await (flavour === 'tryAcquire'
        ? this.#locks.tryAcquire(key, options)
        : this.#locks.acquire(key, options));
      got();
      if (lock === null) {
        this.#record({ e: 'fail', i, k: key, c: 'LOCK_TIMEOUT' });
        return;
      }
      await this.#section(call, lock, false);
      if (call.isAbandoned) {
        this.#observe('chk', call, lock);
        this.#record({ e: 'abandon', i, k: key });
        return;
      }
      this.#observe('rel', call, lock);
      const released = lock.release();
      this.#abortSomeone(key);
      this.#record({ e: 'rld', i, k: key, out: await released });
    } catch (error) {
      got();
      this.#record({ e: 'fail', i, k: key, c: error === call.reason ? 'aborted' : codeOf(error) });
    }
  }

  /** Records the state of the handle. The time is taken first, so that time plus `remaining` is never too late. */
  #observe(e, { i, key }, lock, inner = false) {
    const t = monotonic();
    const r = lock.remaining;
    const held = lock.isHeld;
    this.#record({ e, t, i, k: key, tok: lock.token, held, r, ...(inner && { inner: 1 }) });
    return held;
  }

  async #section(call, lock, inScope) {
    const { i, key } = call;
    const random = this.#random;
    this.holds += 1;
    this.#observe('ok', call, lock);
    lock.signal.addEventListener('abort', () => {
      this.#record({ e: 'lost', i, k: key, tok: lock.token, why: lock.signal.reason.reason });
    });
    const { length } = call;
    if (length < 0) return;
    const witness = this.#enter(call, lock);
    try {
      const began = monotonic();
      if (random.chance(0.02)) await this.#extend(call, lock);
      if (!call.shared && random.chance(0.1)) await this.#writeGuarded(call, lock);
      if (length === 0) await new Promise((resolve) => setImmediate(resolve));
      while (monotonic() - began < length) {
        await elapse(Math.min(20, length));
        if (!this.#observe('chk', call, lock)) break;
      }
      if (!call.shared && random.chance(0.05)) await this.#reenter(call, lock, inScope);
    } finally {
      this.#leave(witness);
    }
  }

  async #extend(call, lock) {
    try {
      await lock.extend(this.#random.pick([50, 100, 300, 1_000, LONGEST_LEASE]));
      this.#observe('chk', call, lock);
    } catch (error) {
      this.#record({ e: 'extend-failed', i: call.i, c: codeOf(error) });
    }
  }

  /** Checks that the lock is held, then writes with its token, as a careful user does. */
  async #writeGuarded(call, lock) {
    if (!this.#observe('chk', call, lock)) return;
    await this.#write({ i: call.i, k: call.key, tok: lock.token });
    this.#observe('chk', call, lock);
  }

  async #reenter(call, lock, inScope) {
    const inner = () =>
      this.#locks.withLock(call.key, async (again) => {
        // The outer hold was lost, so this is a new hold, which the history leaves out.
        if (again.token !== lock.token) return;
        this.#observe('chk', call, again, true);
        if (this.#random.chance(0.5)) await elapse(2);
        this.#observe('chk', call, again, true);
      });
    try {
      await (inScope ? inner() : lock.run(inner));
    } catch (error) {
      // After a lost hold this is a new acquisition, which may fail in all usual ways.
      this.#record({ e: 'reenter-failed', i: call.i, c: codeOf(error) });
    }
  }

  /** One of the next waiters gives up exactly during a hand-over. */
  #abortSomeone(key) {
    if (!this.#random.chance(0.1)) return;
    for (const { key: wanted, abort } of this.#waiting.values()) {
      if (wanted !== key) continue;
      const when = this.#random.pick([
        (then) => then(),
        (then) => void Promise.resolve().then(then),
        (then) => process.nextTick(then),
        (then) => setImmediate(then),
      ]);
      when(abort);
      return;
    }
  }

  /** A file that only one holder may have at a time; of use only while no process is stopped inside a section. */
  #enter(call, lock) {
    const isExclusive = call.shared === undefined && call.options.leaseTime === undefined;
    if (this.#settings.witnesses === undefined || !isExclusive) return undefined;
    const path = join(this.#settings.witnesses, call.key);
    try {
      return { path, file: openSync(path, 'wx') };
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      this.#record({ e: 'witness', i: call.i, k: call.key, tok: lock.token, held: lock.isHeld });
      return undefined;
    }
  }

  #leave(witness) {
    if (witness === undefined) return;
    closeSync(witness.file);
    unlinkSync(witness.path);
  }
}
