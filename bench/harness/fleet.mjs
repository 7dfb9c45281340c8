import { Actor } from './actor.mjs';
import { elapse, monotonicMs } from './clock.mjs';
import { sum } from './statistics.mjs';

/** Long enough for the request to reach all processes. */
const START_DELAY_MS = 30;

/**
 * @typedef {object} LoadResult
 * @property {number} perSecond complete holds
 * @property {number} served
 * @property {number} tookMs duration of the round; with `turnsPerCaller`, until the last caller had its turns
 * @property {number} failed
 * @property {number[]} turns of each caller
 * @property {number} maxWait ms, including waits unfinished at the end of the round
 * @property {number | null} meanSection ms; null for empty sections
 * @property {number} mostAtOnce maximum of concurrent sections
 * @property {import('./server.mjs').CommandCounts} commands per hold
 * @property {{ client: number, server: number }} micros µs of processor time per hold, of all processes and of Redis
 * @property {[string, string][]} errors
 */

/** The processes of one candidate. Started once, and used for all its rounds. */
export class Fleet {
  #actors = [];
  #rounds = 0;

  /** @param {string[]} [execArgv] options of Node for its processes */
  constructor(candidate, processes, url, sharing, execArgv = []) {
    this.candidate = candidate;
    this.processes = processes;
    this.url = url;
    this.sharing = sharing;
    this.execArgv = execArgv;
  }

  async open() {
    await this.#start(this.processes);
  }

  /** Starts more processes, up to so many in all. */
  async growTo(processes) {
    // A few at a time: a process that starts among many others may not connect in time.
    for (let more; (more = processes - this.#actors.length) > 0;) await this.#start(Math.min(more, 8));
    this.processes = processes;
  }

  async #start(count) {
    const { candidate, execArgv, sharing, url } = this;
    const { id, build } = candidate;
    const actors = Array.from({ length: count }, () => new Actor('load.mjs', { build, execArgv }));
    this.#actors.push(...actors);
    [this.version] = await Promise.all(actors.map((actor) => actor.call('open', id, url, sharing)));
  }

  /** Calls a function of each process, and returns all results. */
  each(method, ...args) {
    return Promise.all(this.#actors.map((actor) => actor.call(method, ...args)));
  }

  async close() {
    await Promise.all(this.#actors.map((actor) => actor.kill()));
  }

  /**
   * @param {Omit<import('../actors/load.mjs').LoadPlan, 'label' | 'firstCaller' | 'startAt'>} plan `callers`: of all processes
   */
  async run({ callers, ...plan }, stats) {
    await stats.empty();
    let serverBefore;
    const begin = async () => {
      await stats.reset();
      serverBefore = await stats.processorMs();
    };
    await begin();
    const label = `${this.candidate.kind}:round-${++this.#rounds}`;
    const startAt = monotonicMs() + START_DELAY_MS;
    const { leadMs = 0 } = plan;
    let firstCaller = 0;
    const running = Promise.all(
      this.#actors.map((actor, index) => {
        const mine = Math.floor(callers / this.processes) + (index < callers % this.processes ? 1 : 0);
        const order = { ...plan, label, startAt, callers: mine, firstCaller };
        firstCaller += mine;
        return actor.call('run', order);
      }),
    );
    if (leadMs > 0) void elapse(startAt + leadMs - monotonicMs()).then(begin);
    // Excludes the cost of holds that are granted after the end of the round.
    const used = async () => ({
      commands: await stats.counts(),
      serverMs: (await stats.processorMs()) - serverBefore,
    });
    const atTheEnd = elapse(startAt + plan.durationMs - monotonicMs()).then(used);
    const results = await running;
    const costs = await (plan.turnsPerCaller === undefined ? atTheEnd : used());
    // Callers that are still waiting would disturb the next candidate.
    if (results.some(({ drained }) => !drained)) await this.#replace();
    const endedAt = Math.max(...results.map((result) => result.endedAt));
    return combine(results, costs, endedAt - startAt - leadMs);
  }

  async #replace() {
    await this.close();
    this.#actors = [];
    await this.open();
  }
}

function combine(results, { commands, serverMs }, tookMs) {
  const callers = results.flatMap((result) => result.callers);
  const served = sum(callers.map(({ turns }) => turns));
  const sections = results.flatMap((result) => result.sections);
  const perHold = (count) => (served === 0 ? null : count / served);
  return {
    perSecond: served / (tookMs / 1_000),
    served,
    tookMs,
    failed: sum(callers.map(({ failed }) => failed)),
    turns: callers.map(({ turns }) => turns),
    maxWait: Math.max(...callers.map(({ maxWait }) => maxWait)),
    meanSection:
      sections.length === 0 ? null : sum(sections.map(([from, to]) => to - from)) / sections.length,
    mostAtOnce: mostAtOnce(sections),
    commands: Object.fromEntries(Object.entries(commands).map(([name, count]) => [name, perHold(count)])),
    micros: {
      client: perHold(sum(results.map(({ processorMs }) => processorMs)) * 1_000),
      server: perHold(serverMs * 1_000),
    },
    errors: results.flatMap(({ errors }) => errors),
  };
}

function mostAtOnce(sections) {
  // A section that ends at the start of another does not overlap it.
  const changes = sections
    .flatMap(([from, to]) => [
      [from, 1],
      [to, -1],
    ])
    .sort(([at, change], [otherAt, otherChange]) => at - otherAt || change - otherChange);
  let [now, most] = [0, 0];
  for (const [, change] of changes) {
    now += change;
    most = Math.max(most, now);
  }
  return most;
}
