import { setTimeout as elapse } from 'node:timers/promises';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { monotonic } from './monotonic.mjs';

const WAIT_TIMES = [0, 1, 5, 20, 50, 50, 300, 2_000, 2_000, 8_000, 8_000, Infinity];
const LEASE_TIMES = [undefined, undefined, undefined, undefined, 40, 200, 1_000, 2_500];
/** How long a section takes, ms; -1 has no await at all, 0 only a turn of the event loop. */
const SECTIONS = [-1, -1, -1, 0, 0, 1, 1, 3, 3, 10, 10, 30, 80];
/** For the last of several keys: where the lock passes from caller to caller without a pause. */
const QUICK_SECTIONS = [-1, -1, -1, 0, 0, 1];
/** How often the work takes longer than its lease; rarely where that keeps everybody waiting for long. */
const OVERTIME = { 40: 0.2, 200: 0.05, 1_000: 0.005 };
/** How often a lock is forgotten rather than given back. */
const ABANDONED = { 40: 0.1, 200: 0.03, 1_000: 0.005, 2_500: 0.002 };
/** The longest lease that any of these callers asks for, with extensions, ms. */
export const LONGEST_LEASE = 4_000;

const codeOf = (error) => error?.code ?? String(error?.message ?? error);

/** The callers of one process, doing all that one can do with a lock, at random. */
export class Workload {
  holds = 0;
  #locks;
  #record;
  #settings;
  #random;
  #fair;
  #write;
  #calls = 0;
  #ending = new AbortController();
  /** Those that wait at the moment, so that they can be aborted when it hurts most. */
  #waiting = new Map();
  ended = Promise.resolve();

  constructor({ locks, record, settings, random, fair, write }) {
    this.#locks = locks;
    this.#record = record;
    this.#settings = settings;
    this.#random = random;
    this.#fair = fair;
    this.#write = write;
  }

  start() {
    const callers = Array.from({ length: this.#settings.callers }, (_, index) => this.#caller(index));
    this.ended = Promise.all([...callers, this.#blocker()]);
  }

  /** No further calls; whoever waits gives up. */
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
      // Most stay with one key: else all would soon wait for the slowest.
      const number = this.#random.chance(0.9) ? index % keys : this.#random.between(0, keys - 1);
      await this.#call(number);
      const pause = this.#random.pick(this.#isQuick(number) ? [-1, -1, 0, 0, 1] : [-1, -1, 0, 1, 5, 30]);
      if (pause >= 0) await elapse(pause);
    }
  }

  #isQuick(number) {
    return this.#settings.keys > 2 && number === this.#settings.keys - 1;
  }

  /** Keeps the event loop busy now and then, at times for longer than a lease. */
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
    const call = this.#plan(number);
    const { i, key, options, flavour } = call;
    this.#record({
      e: 'invoke',
      i,
      k: key,
      w: options.waitTime === Infinity ? -1 : options.waitTime,
      l: options.leaseTime ?? 0,
      ...(options.fair && { f: 1 }),
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
          this.#give(call, lock);
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
      if (
        !call.quick &&
        options.leaseTime !== undefined &&
        this.#random.chance(ABANDONED[options.leaseTime])
      ) {
        this.#prove('chk', call, lock);
        this.#record({ e: 'abandon', i, k: key });
        return;
      }
      this.#give(call, lock);
      const released = lock.release();
      this.#abortSomeone(key);
      this.#record({ e: 'rld', i, k: key, out: await released });
    } catch (error) {
      got();
      this.#record({ e: 'fail', i, k: key, c: error === call.reason ? 'aborted' : codeOf(error) });
    }
  }

  #plan(number) {
    const random = this.#random;
    // The first key is for those who want strict order, so that it can be checked there strictly.
    const allFair = number === 0 && this.#settings.keys > 1;
    const fair = this.#fair && (allFair || (number < 2 && random.chance(0.3)));
    const waitTime = random.pick(WAIT_TIMES);
    // The lock passes on without the store only between callers without a lease of their own.
    const leaseTime =
      this.#isQuick(number) && random.chance(this.#settings.plain ? 1 : 0.97)
        ? undefined
        : random.pick(LEASE_TIMES);
    const controller = new AbortController();
    const reason = new Error('aborted');
    const quick = this.#isQuick(number) && !random.chance(0.01);
    const call = { i: ++this.#calls, key: `k${number}`, quick, reason, timer: undefined, abort: undefined };
    call.abort = () => {
      if (controller.signal.aborted) return;
      this.#record({ e: 'abort', i: call.i });
      controller.abort(reason);
    };
    const impatient = random.chance(0.2)
      ? random.between(0, 600)
      : waitTime === Infinity
        ? 15_000
        : undefined;
    if (impatient !== undefined) call.timer = setTimeout(call.abort, impatient);
    call.options = {
      waitTime,
      signal: controller.signal,
      ...(leaseTime !== undefined && { leaseTime }),
      ...(fair && { fair }),
    };
    call.flavour = random.pick(['acquire', 'acquire', 'tryAcquire', 'withLock']);
    return call;
  }

  /** Writes down what the handle says of itself at this moment. The time is taken first: the proof is of later. */
  #prove(e, { i, key }, lock, inner = false) {
    const t = monotonic();
    const r = lock.remaining;
    const held = lock.isHeld;
    this.#record({ e, t, i, k: key, tok: lock.token, held, r, ...(inner && { inner: 1 }) });
    return held;
  }

  /** The last words before the lock is given back. */
  #give(call, lock) {
    this.#prove('rel', call, lock);
  }

  async #section(call, lock, inScope) {
    const { i, key, options } = call;
    const random = this.#random;
    this.holds += 1;
    this.#prove('ok', call, lock);
    lock.signal.addEventListener('abort', () => {
      this.#record({ e: 'lost', i, k: key, tok: lock.token, why: lock.signal.reason.reason });
    });
    const overtime = !call.quick && random.chance(OVERTIME[options.leaseTime] ?? 0);
    let length = overtime ? options.leaseTime * 1.5 : random.pick(call.quick ? QUICK_SECTIONS : SECTIONS);
    if (!call.quick && random.chance(0.001)) length = random.between(300, 2_500);
    if (length < 0) return;
    const witness = this.#enter(call, lock);
    try {
      const began = monotonic();
      if (random.chance(0.02)) await this.#extend(call, lock);
      if (random.chance(0.1)) await this.#writeGuarded(call, lock);
      if (length === 0) await new Promise((resolve) => setImmediate(resolve));
      while (monotonic() - began < length) {
        await elapse(Math.min(20, length));
        if (!this.#prove('chk', call, lock)) break;
      }
      if (random.chance(0.05)) await this.#reenter(call, lock, inScope);
    } finally {
      this.#leave(witness);
    }
  }

  async #extend(call, lock) {
    try {
      await lock.extend(this.#random.pick([50, 100, 300, 1_000, LONGEST_LEASE]));
      this.#prove('chk', call, lock);
    } catch (error) {
      this.#record({ e: 'extend-failed', i: call.i, c: codeOf(error) });
    }
  }

  /** What a careful user does: looks whether the lock is held, then writes with the token. */
  async #writeGuarded(call, lock) {
    if (!this.#prove('chk', call, lock)) return;
    await this.#write({ i: call.i, k: call.key, tok: lock.token });
    this.#prove('chk', call, lock);
  }

  async #reenter(call, lock, inScope) {
    const inner = () =>
      this.#locks.withLock(call.key, async (again) => {
        // The hold was over, so this is one of its own, of which the history needs to know nothing.
        if (again.token !== lock.token) return;
        this.#prove('chk', call, again, true);
        if (this.#random.chance(0.5)) await elapse(2);
        this.#prove('chk', call, again, true);
      });
    try {
      await (inScope ? inner() : lock.run(inner));
    } catch (error) {
      // Of a hold that is over, the key is free for a fresh acquisition, which may fail in all the usual ways.
      this.#record({ e: 'reenter-failed', i: call.i, c: codeOf(error) });
    }
  }

  /** In the very moment of a hand-over, one of those who could be next gives up. */
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

  /** A file that only one may have at a time; of use only while nobody is stopped between two lines. */
  #enter(call, lock) {
    if (this.#settings.witnesses === undefined || call.options.leaseTime !== undefined) return undefined;
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
