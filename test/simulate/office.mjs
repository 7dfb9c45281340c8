/** How long methods of a leader may outlive their leadership, ms. */
const LIMIT = 3_000;
/** What messages, polls and clean-ups take on top, ms. */
const MARGIN = 3_000;

const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * A candidate of the election, in one process. Its methods throw, hang, block the process and resign, and the election is
 * stopped and begun anew. Checks what the election promises.
 */
export class Office {
  /** What methods under `@OnElected` were given last. */
  #leadership;
  /** Since when the process has had the lock, though it did not lead. */
  #idleSince;

  constructor(simulation, process) {
    Object.assign(this, { simulation, process, world: simulation.world });
    this.open();
    this.interfere();
    process.locks.events.subscribe(({ type, key }) => {
      // Before the election learns of its lock.
      if (type === 'granted' && key === 'leader' && this.world.random.chance(0.1)) void this.stop();
    });
  }

  get leads() {
    return this.election.isLeader || this.#leadership?.signal.aborted === false;
  }

  open() {
    const { library } = this.simulation;
    const { locks } = this.process;
    const election = new library.LeaderElection('leader', 'leader', locks, SILENT, undefined, LIMIT);
    this.election = election;
    const term = { isStopped: false, works: 0 };
    this.term = term;
    election.handle('elected', (leadership) => this.lead(election, term, leadership));
    election.handle('revoked', () => this.leave());
    election.leadership$.subscribe(({ type, reason = '' }) => {
      this.simulation.count(`${type} ${reason}`.trim());
      if (type === 'elected' && term.isStopped) this.fail('was elected after its election was stopped');
    });
  }

  async lead(election, term, leadership) {
    const { world, simulation, process } = this;
    const { random } = world;
    this.#leadership = leadership;
    if (term.isStopped) this.fail('began its work after its election was stopped');
    if (term.works > 0) this.fail('began its work twice');
    const over = new Promise((resolve) => leadership.signal.addEventListener('abort', resolve));
    if (simulation.isEnding) return;
    term.works += 1;
    try {
      await random.weighted([
        [4, () => undefined],
        [4, () => over],
        [1, () => this.throwAfter(0)],
        [2, () => this.throwAfter(random.between(0, 2_000))],
        [2, () => over.then(() => this.elapse(random.pick([100, 2_500, 2 * LIMIT, 3 * LIMIT])))],
        [2, () => process.stall(random.pick([400, 9_000])) ?? over],
        [1, () => void election.resign()],
        [1, () => this.awaitResignation(election)],
      ])();
    } finally {
      term.works -= 1;
    }
  }

  async leave() {
    const { random } = this.world;
    if (this.simulation.isEnding) return;
    await random.weighted([
      [6, () => undefined],
      [1, () => this.throwAfter(0)],
      [1, () => this.elapse(random.pick([100, 5_000]))],
    ])();
  }

  elapse(ms) {
    return new Promise((resolve) => this.world.after(ms, resolve, this.process));
  }

  async throwAfter(ms) {
    if (ms > 0) await this.elapse(ms);
    throw new Error('out of order');
  }

  async awaitResignation(election) {
    try {
      await election.resign();
    } catch {
      return;
    }
    this.fail('awaited resign() in its own method');
  }

  /** Now and then something ends the leadership, or the candidacy. */
  interfere() {
    const { world, simulation } = this;
    const { random } = world;
    if (simulation.isEnding) return;
    const act = random.weighted([
      [4, () => undefined],
      [3, () => this.inTime('resign()', this.election.resign())],
      [1, () => this.stop()],
    ]);
    world.after(
      random.between(500, 8_000),
      () => Promise.resolve(act()).then(() => this.interfere()),
      this.process,
    );
  }

  /** As if the application ended and started again. */
  async stop() {
    const { election, term } = this;
    if (term.isStopped || this.simulation.isEnding) return;
    term.isStopped = true;
    await this.inTime('stop()', election.stop());
    if (election.isLeader) this.fail('leads though its election was stopped');
    this.open();
    this.election.start();
  }

  async inTime(what, ended) {
    const began = this.world.now;
    await ended;
    const took = this.sinceUndisturbed(began);
    if (took > LIMIT + MARGIN) this.fail(`waited ${Math.round(took)} ms for ${what}`);
  }

  /** For how long something has lasted while nothing disturbed the process, ms. */
  sinceUndisturbed(since) {
    return this.world.now - Math.max(since, this.process.undisturbedSince);
  }

  /** After each event: does a process keep the lock without leading? */
  check(servers) {
    const id = `${this.process.engine.clientId}:`;
    const isHolder = (server) => server.holdersOf('leader').some(({ owner }) => owner.startsWith(id));
    const holds = 2 * servers.filter(isHolder).length > servers.length;
    if (!holds || this.election.isLeader) this.#idleSince = undefined;
    else {
      this.#idleSince ??= this.world.now;
      const idle = this.sinceUndisturbed(this.#idleSince);
      if (idle > LIMIT + MARGIN) this.fail(`has kept the lock for ${Math.round(idle)} ms without leading`);
    }
  }

  fail(what) {
    this.simulation.fail(`${this.process.name} ${what}`);
  }
}
