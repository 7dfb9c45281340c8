const WAIT_TIMES = [0, 1, 5, 20, 50, 50, 300, 2_000, 2_000, 8_000, 8_000, Infinity];
/** When somebody who would wait for ever loses patience, ms. */
const LONGEST_PATIENCE = 15_000;
const LEASE_TIMES = [undefined, undefined, undefined, undefined, 40, 200, 1_000, 2_500];
/** The longest lease that any of the callers asks for, with extensions, ms. */
export const LONGEST_LEASE = 4_000;
/** How long a section takes, ms; -1 has no await at all, 0 only a turn of the event loop. */
const SECTIONS = [-1, -1, -1, 0, 0, 1, 1, 3, 3, 10, 10, 30, 80];
/** For the last of several keys: where the lock passes from caller to caller without a pause. */
const QUICK_SECTIONS = [-1, -1, -1, 0, 0, 1];
/** How often the work takes longer than its lease; rarely where that keeps everybody waiting for long. */
const OVERTIME = { 40: 0.2, 200: 0.05, 1_000: 0.005 };
/** How often a lock is forgotten rather than given back. */
const ABANDONED = { 40: 0.1, 200: 0.03, 1_000: 0.005, 2_500: 0.002 };

/** Decides by chance what the next call is, and what its caller then does. */
export class CallPlanner {
  #settings;
  #random;
  #fair;
  #record;
  #calls = 0;

  /** @param {{ settings: object, random: import('./random.mjs').Random, fair: boolean, record: Function }} given */
  constructor({ settings, random, fair, record }) {
    this.#settings = settings;
    this.#random = random;
    this.#fair = fair;
    this.#record = record;
  }

  /** ms between two calls of a caller; -1 for none at all. */
  pauseAt(number) {
    return this.#random.pick(this.#isQuick(number) ? [-1, -1, 0, 0, 1] : [-1, -1, 0, 1, 5, 30]);
  }

  /** @param {number} number of the key */
  next(number) {
    const random = this.#random;
    const quick = this.#isQuick(number) && !random.chance(0.01);
    const waitTime = random.pick(WAIT_TIMES);
    const leaseTime = this.#leaseAt(number);
    const controller = new AbortController();
    const reason = new Error('aborted');
    const i = ++this.#calls;
    const call = {
      i,
      key: `k${number}`,
      options: {
        waitTime,
        signal: controller.signal,
        ...(leaseTime !== undefined && { leaseTime }),
        ...(this.#isFairAt(number) && { fair: true }),
      },
      flavour: random.pick(['acquire', 'acquire', 'tryAcquire', 'withLock']),
      length: quick ? random.pick(QUICK_SECTIONS) : this.#lengthUnder(leaseTime),
      isAbandoned: !quick && random.chance(ABANDONED[leaseTime] ?? 0),
      reason,
      timer: undefined,
      abort: () => {
        if (controller.signal.aborted) return;
        this.#record({ e: 'abort', i });
        controller.abort(reason);
      },
    };
    const patience = random.chance(0.2) ? random.between(0, 600) : LONGEST_PATIENCE;
    if (patience < waitTime) call.timer = setTimeout(call.abort, patience);
    return call;
  }

  #isQuick(number) {
    return this.#settings.keys > 2 && number === this.#settings.keys - 1;
  }

  /** The first key is for those who want strict order, so that it can be checked there strictly. */
  #isFairAt(number) {
    const everybody = number === 0 && this.#settings.keys > 1;
    return this.#fair && (everybody || (number < 2 && this.#random.chance(0.3)));
  }

  /** The lock passes on without the store only between callers without a lease of their own. */
  #leaseAt(number) {
    const none = this.#isQuick(number) && this.#random.chance(this.#settings.plain ? 1 : 0.97);
    return none ? undefined : this.#random.pick(LEASE_TIMES);
  }

  #lengthUnder(leaseTime) {
    const random = this.#random;
    if (random.chance(this.#settings.lasting ? 0.5 : 0.001)) return random.between(300, 2_500);
    return random.chance(OVERTIME[leaseTime] ?? 0) ? leaseTime * 1.5 : random.pick(SECTIONS);
  }
}
