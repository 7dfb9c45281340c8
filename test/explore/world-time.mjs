// The clock and the timers of the world that is explored at the moment, in place of those of the process.

const runImmediate = globalThis.setImmediate;
/** The world whose timers are set now. */
let current;

export function enter(world) {
  current = world;
}

/** The clocks and timers of this process belong to the explored worlds from now on. */
export function takeOverTimers() {
  globalThis.setTimeout = (callback, ms) => {
    const timer = { callback, dueAt: current.now + ms, unref: () => timer };
    current.timers.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => current.timers.delete(timer);
  globalThis.setImmediate = (callback) => void Promise.resolve().then(callback);
  Math.random = () => 0.5;
}

/** Promises go on until they wait for an event. */
export const settled = () => new Promise((resolve) => runImmediate(resolve));

/** How often a process asks again, ms. */
const POLL = 1_000;
/** While runs are brought to their end, no lease may do it: what is left behind has to show. */
const LONGEST_TIMER = 1_500;
/** Some time, ms: three of them are more than half of the time in which a waiter has to ask again. */
const MOMENT = 500;

/** A world of processes whose code waits for promises. Deterministic: the same events lead to the same state. */
export class TimedWorld {
  now = 1_000_000;
  timers = new Set();
  violations = [];
  lastToken = 0;
  /** Whether the locks exclude each other. */
  isPromised = true;
  doTokensGrow = true;
  order = 0;

  /**
   * @param modules the built classes that are explored
   * @param rules `limits` of the processes, the `permits` that each takes (1 if left out), and how many `calls`, `tries` without a
   *   wait, `leaves`, `polls`, `renewals`, `reserves`, `steps` of time to the next timer, `moments`, and `leaps` to the end of a
   *   lease (0 if left out); `prompt` if answers take no time
   */
  constructor(modules, rules) {
    enter(this);
    this.modules = modules;
    this.rules = { ...rules };
  }

  violation(text) {
    this.violations.push(text);
  }

  failure(inDoubt, unreachable = true) {
    return new this.modules.LockStoreError('no answer', { inDoubt, retryable: true, unreachable });
  }

  started({ limit, token }) {
    const running = this.processes.filter(({ isRelying }) => isRelying);
    const held = running.reduce((sum, { permits }) => sum + permits, 0);
    const isShared = running.every((each) => each.limit === limit);
    if (this.isPromised && (!isShared || held > limit)) this.violation('two holders at one time');
    if (limit === 1) this.gives(token, 1);
  }

  /** Tokens that a process may use from now on. */
  gives(token, count) {
    if (this.doTokensGrow && token <= this.lastToken)
      this.violation(`the token ${token} after ${this.lastToken}`);
    this.lastToken = token + count - 1;
  }

  /** What may happen at each place: whether it can now, and which rule says how often. */
  get places() {
    return this.processes.map((process) => [process.id, () => this.actionsOf(process)]);
  }

  actionsOf(process) {
    const { state, isWaiting } = process;
    return {
      calls: { can: state === 'idle', costs: 'calls', act: () => process.call() },
      tries: { can: state === 'idle', costs: 'tries', act: () => process.try() },
      releases: { can: state === 'holds', act: () => process.end() },
      leaves: { can: isWaiting, costs: 'leaves', act: () => process.withdraw() },
      polls: { can: state === 'waits', costs: 'polls', act: () => process.ask() },
      renews: { can: state === 'holds', costs: 'renewals', act: () => process.renew() },
      reserves: { can: state === 'holds', costs: 'reserves', act: () => process.reserve() },
      retries: { can: process.retry !== undefined, act: () => process.retry() },
    };
  }

  /** Everything that may happen next, in words that `apply` understands. */
  get events() {
    const { rules, timers } = this;
    const isPossible = ([, { can, costs }]) => can && (costs === undefined || rules[costs] > 0);
    const events = this.places.flatMap(([place, actions]) =>
      Object.entries(actions())
        .filter(isPossible)
        .map(([verb]) => `${place} ${verb}`),
    );
    if (rules.steps > 0 && timers.size > 0) events.push('time passes');
    if (rules.moments > 0) events.push('a moment passes');
    if (rules.leaps > 0 && this.nextEnd < Infinity) events.push('a lease ends');
    return events;
  }

  async apply(event) {
    enter(this);
    this.order = (this.order * 31 + event.length + event.charCodeAt(2)) % 1_009;
    if (event === 'time passes') await this.pass('steps', this.nextTimer);
    else if (event === 'a moment passes') await this.pass('moments', this.now + MOMENT);
    else if (event === 'a lease ends') await this.pass('leaps', this.nextEnd);
    else {
      const [place, actions] = this.places.find(([name]) => event.startsWith(`${name} `));
      const { costs, act } = actions()[event.slice(place.length + 1)];
      if (costs !== undefined) this.rules[costs] -= 1;
      act();
    }
    await settled();
  }

  get nextTimer() {
    return Math.min(...[...this.timers].map(({ dueAt }) => dueAt));
  }

  async pass(rule, time) {
    this.rules[rule] -= 1;
    await this.moveTo(time);
  }

  async moveTo(time) {
    for (let due = this.nextTimer; due <= time; due = this.nextTimer) {
      const timer = [...this.timers].find(({ dueAt }) => dueAt === due);
      this.timers.delete(timer);
      this.now = Math.max(this.now, due);
      timer.callback();
      await settled();
    }
    this.now = Math.max(this.now, time);
    for (const process of this.processes) if (process.state === 'holds' && !process.isRelying) process.end();
  }

  /**
   * Lets all pending work end without new calls and faults. A process that still waits afterwards is a violation.
   *
   * @param nextEvents of which one happens, in each step of a round
   */
  async comeToEnd(rounds, nextEvents) {
    for (let round = 0; round < rounds && this.violations.length === 0; round += 1) {
      for (let step = 0; step < 300; step += 1) {
        const events = nextEvents(round);
        if (events.length === 0) break;
        // Another order after each run, and the same one when it is replayed.
        await this.apply(events[(this.order + step) % events.length]);
      }
      const isAtRest = this.processes.every(({ state }) => state === 'idle');
      if (isAtRest && this.nextTimer > this.now + LONGEST_TIMER) break;
      await this.moveTo(this.now + POLL);
      for (const process of this.processes) {
        if (process.state === 'waits') process.ask();
        else process.retry?.();
      }
      await settled();
    }
    for (const { id, state } of this.processes)
      if (state !== 'idle') this.violation(`${id} ${state} for ever`);
  }

  /** Nothing new may begin from now on. */
  allowNothingNew() {
    for (const [name, value] of Object.entries(this.rules))
      if (typeof value === 'number') this.rules[name] = 0;
  }

  ago = (time) => (Math.abs(time) === Infinity || time === undefined ? 'x' : Math.round(time - this.now));
}
