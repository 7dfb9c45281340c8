const WAIT_TIMES = [0, 1, 5, 20, 50, 50, 300, 2_000, 2_000, 8_000, 8_000, Infinity];
/** When a caller with an infinite waitTime gives up, ms. */
const LONGEST_PATIENCE = 15_000;
const LEASE_TIMES = [undefined, undefined, undefined, undefined, 40, 200, 1_000, 2_500];
/** The longest lease that a caller requests, extensions included, ms. */
export const LONGEST_LEASE = 4_000;
/** The length of a section, ms; -1 contains no await at all, 0 one turn of the event loop. */
const SECTIONS = [-1, -1, -1, 0, 0, 1, 1, 3, 3, 10, 10, 30, 80];
/** For the last of several keys, where the lock passes from caller to caller without a pause. */
const QUICK_SECTIONS = [-1, -1, -1, 0, 0, 1];
/** Permits of the semaphore, and the kinds of the calls of locks that several may hold. */
const LIMIT = 3;
const SHARED = [
  (random) => ({ kind: 'permits', permits: random.pick([1, 1, 1, 2, LIMIT]), limit: LIMIT }),
  (random) => ({ kind: random.pick(['reader', 'reader', 'reader', 'writer']) }),
];
/** How often a section outlasts its lease; rarely where that blocks all callers for long. */
const OVERTIME = { 40: 0.2, 200: 0.05, 1_000: 0.005 };
/** How often a lock is not released. */
const ABANDONED = { 40: 0.1, 200: 0.03, 1_000: 0.005, 2_500: 0.002 };

/** Plans the next call and its section at random. */
export class CallPlanner {
  #settings;
  #random;
  #record;
  #calls = 0;

  /** @param {{ settings: object, random: import('./random.mjs').Random, record: Function }} given */
  constructor({ settings, random, record }) {
    this.#settings = settings;
    this.#random = random;
    this.#record = record;
  }

  /** The pause between two calls of a caller, ms; -1 for none. */
  pauseAt(number) {
    return this.#random.pick(this.#isQuick(number) ? [-1, -1, 0, 0, 1] : [-1, -1, 0, 1, 5, 30]);
  }

  /** @param {number} number of the key; those after the last key are a semaphore and a read-write lock */
  next(number) {
    const random = this.#random;
    const shared = SHARED[number - this.#settings.keys]?.(random);
    const quick = this.#isQuick(number) && !random.chance(0.01);
    const waitTime = random.pick(WAIT_TIMES);
    const leaseTime = this.#leaseAt(number);
    const controller = new AbortController();
    const reason = new Error('aborted');
    const i = ++this.#calls;
    const call = {
      i,
      key: `k${number}`,
      ...(shared && { shared }),
      options: {
        waitTime,
        signal: controller.signal,
        ...(leaseTime !== undefined && { leaseTime }),
        ...(this.#isFairAt(number) && { fair: true }),
        ...(shared?.kind === 'permits' && { limit: shared.limit, permits: shared.permits }),
        ...(shared?.kind === 'reader' && { mode: 'shared' }),
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

  /** All callers of the first key are fair, so that their order can be checked strictly. */
  #isFairAt(number) {
    const everyone = number === 0 && this.#settings.keys > 1;
    return everyone || (number < 2 && this.#random.chance(0.3));
  }

  /** Only callers without a leaseTime hand the lock over inside the process. */
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
