import { mergeLogs } from './event-logs.mjs';
import { Faults } from './faults.mjs';
import { Fleet } from './fleet.mjs';
import { RULES_WITH_FAULTS } from './history-checker.mjs';
import { checkElection } from './leader-checker.mjs';
import { Random } from './random.mjs';

/** Short, so that much happens in a short run. */
const WATCHDOG_TIMEOUT = 1_500;
/** The operator breaks `k0`, too. */
const KEY = 'k0';
/** How often a fault hits the leader rather than any process. */
const AT_THE_LEADER = 0.7;
/** What ends a leadership happens more often than in other runs. */
const WEIGHTS = { 'process killed': 40, 'process shut down': 30, 'process stopped': 40 };
/** How long a fault has effects after its end, such as the queue position of a candidate that was killed, ms. */
const SETTLE = 4_000;

/** The lease of a leader that crashed, by store: etcd and ZooKeeper end it after up to 1.5 times as long, in seconds. */
const leaseOf = (store) =>
  store === 'etcd' || store === 'zookeeper'
    ? Math.ceil((1.5 * WATCHDOG_TIMEOUT) / 1_000) * 1_000
    : WATCHDOG_TIMEOUT;

class Candidates extends Fleet {
  get leader() {
    return super.able.find(({ leads }) => leads);
  }

  get able() {
    const { leader } = this;
    return leader !== undefined && this.scene.random.chance(AT_THE_LEADER) ? [leader] : super.able;
  }
}

/** Pauses so long that a takeover is over before the next fault, and at times a burst of faults. */
function pauses(random) {
  let burst = 0;
  return () => {
    if (burst-- > 0) return random.between(30, 600);
    burst = random.chance(0.15) ? random.between(2, 6) : 0;
    return random.between(SETTLE + 500, SETTLE + 2_000);
  };
}

/** Elections under faults, for the time of the run; then the check of what the processes recorded. */
export async function elect(options, scene, { only, log, rules = {} }) {
  const { server, record } = scene;
  await server.start({ faults: true });
  const random = new Random(options.seed);
  const settings = {
    store: options.store,
    seed: options.seed,
    faults: true,
    key: KEY,
    build: scene.build.entry,
    watchdogTimeout: WATCHDOG_TIMEOUT,
  };
  const fleet = new Candidates({
    ...{ settings, server, record, random },
    directory: scene.directory,
    worker: 'leader-worker.mjs',
  });
  for (let count = 0; count < options.processes; count++) await fleet.start();

  const resign = (note) => async (name) => {
    const { leader } = fleet;
    if (leader === undefined) return;
    note(name, { p: leader.id });
    leader.order({ order: 'resign' });
  };
  const faults = new Faults({
    ...{ fleet, server, random, record, only },
    operator: await scene.operator(),
    keys: 1,
    pause: pauses(random),
    weights: WEIGHTS,
    more: (note) => [[50, 'leader resigned', resign(note)]],
  });
  await scene.pass(options.minutes, fleet, faults, { what: 'leaders', log });
  const { findings, figures } = checkElection(mergeLogs([scene.log, ...fleet.logs]), {
    ...RULES_WITH_FAULTS,
    takeover: leaseOf(options.store) + 1_000,
    handOver: 1_000,
    settle: SETTLE,
    ...rules,
  });
  return { findings, figures: { ...figures, faults: faults.counts, dropped: fleet.dropped } };
}
