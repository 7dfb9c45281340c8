import { join } from 'node:path';
import { setTimeout as elapse } from 'node:timers/promises';
import { mergeLogs } from './event-logs.mjs';
import { Faults } from './faults.mjs';
import { FencedResource } from './fenced-resource.mjs';
import { Fleet } from './fleet.mjs';
import { checkHistory, RULES_WITH_FAULTS, STRICT_RULES } from './history-checker.mjs';
import { writeHistory } from './history/history-file.mjs';
import { elect } from './leader.mjs';
import { monotonic } from './monotonic.mjs';
import { Random } from './random.mjs';
import { Scene } from './scene.mjs';
import { compare } from './second-judge.mjs';

/** Short, so that much happens in a short run. */
const WATCHDOG_TIMEOUT = 1_500;
/** Time after which all leases, queue positions and heartbeats have expired, ms. */
const TIDY = 10_000;

/**
 * Runs processes with locks and faults for a while, then checks the recorded history.
 *
 * @param {{ store: string, minutes: number, seed: number, processes: number, keys: number, callers: number, faults: boolean,
 *   plain?: boolean, lasting?: boolean, shared?: boolean, leader?: boolean }} options   `plain`: no leaseTime on the key where the
 *   lock passes fastest; `lasting`: many sections last as long as a failover; `shared`: also a semaphore and a read-write lock;
 *   `leader`: an election instead
 * @param {{ program: unknown, log: (line: string) => void, plant?: (build: object) => void,
 *   only?: readonly string[], rules?: object, keepLogs?: 'never' | 'if bad' | 'always',
 *   judge?: (history: string) => import('./second-judge.mjs').Verdict }} means `program`: the result of the server's set-up;
 *   `judge`: decides on the history, too
 */
export async function soak(options, { program, log, plant, only, rules, judge, keepLogs = 'if bad' }) {
  const scene = new Scene(options.store, program);
  let verdict;
  try {
    plant?.(scene.build);
    verdict = await (options.leader ? elect : load)(options, scene, { only, rules, log, judge });
  } finally {
    const bad = verdict === undefined || verdict.findings.list.length > 0;
    await scene.close({
      keepLogs: keepLogs === 'always' || (keepLogs === 'if bad' && bad && verdict !== undefined),
    });
  }
  return { ...verdict, directory: scene.directory };
}

async function load(
  options,
  scene,
  { only, log, judge, rules = options.faults ? RULES_WITH_FAULTS : STRICT_RULES },
) {
  const { server, record } = scene;
  await server.start({ faults: options.faults });
  const random = new Random(options.seed);
  const { store, seed, keys, callers, faults: withFaults } = options;
  const settings = {
    store,
    seed,
    keys,
    callers,
    faults: withFaults,
    plain: options.plain === true,
    lasting: options.lasting === true,
    shared: options.shared === true,
    build: scene.build.entry,
    watchdogTimeout: WATCHDOG_TIMEOUT,
    // A process that is stopped inside a section would leave its witness file there.
    ...(!withFaults && { witnesses: scene.witnesses }),
  };
  const fleet = new Fleet({
    settings,
    server,
    record,
    directory: scene.directory,
    resource: new FencedResource(),
  });
  for (let count = 0; count < options.processes; count++) await fleet.start();

  const operator = withFaults ? await scene.operator() : undefined;
  const faults = new Faults({ fleet, server, operator, random, keys, shared: settings.shared, record, only });
  await scene.pass(options.minutes, fleet, faults, { what: 'holds', log, hasFaults: withFaults });
  record({ e: 'left', keys: await leftovers(server) });
  const logs = [scene.log, ...fleet.logs];
  const history = join(scene.directory, 'history.jsonl');
  const { findings, figures } = checkHistory(writeHistory(mergeLogs(logs), history), rules);
  const second = judge?.(history);
  if (second !== undefined) compare(findings, second);
  return { findings, figures: { ...figures, second, faults: faults.counts, dropped: fleet.dropped } };
}

/** What is left on the server after it had time to expire. */
async function leftovers(server) {
  const end = monotonic() + TIDY;
  for (;;) {
    const left = await server.leftovers();
    if (!left.some((one) => server.isTransient(one)) || monotonic() > end) return left;
    await elapse(100);
  }
}
