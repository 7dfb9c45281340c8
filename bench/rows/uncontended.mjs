import { above, atLeast, atMost, information } from '../report/checks.mjs';
import { short, times } from '../report/numbers.mjs';
import { bestPeer, only, ours, perSecondRatio } from './measure-load.mjs';
import { measureLoads } from './measure-loads.mjs';

/**
 * Measures uncontended locks against the floor and the peers.
 *
 * @param {object} load `url`: of the server as the candidates reach it; `where`: prefix of each check; `goals`: holds per second ÷
 *   the floor's, and `processor`, the client's time per hold ÷ the floor's
 */
export async function measureFreeLocks(
  context,
  row,
  { candidates, url = context.url, name, plan, where = '', goals },
) {
  const fleets = { row, candidates, processes: 1, url };
  const load = await measureLoads(context, fleets, [{ name, plan }], { contended: false });
  const [measured] = load.measured;
  const [[floor], peer] = [only(measured, 'floor'), bestPeer(measured)];
  const against = (name, line, goal) => [
    atLeast(`${name}: ÷ floor`, perSecondRatio(line, floor), goal, {
      measured: times(perSecondRatio(line, floor)),
    }),
    above(`${name}: ÷ best peer, ${peer.candidate.label}`, perSecondRatio(line, peer), 1, {
      measured: times(perSecondRatio(line, peer)),
    }),
  ];
  const awaited = measured.find(({ candidate }) => candidate.variant === 'awaited');
  const checks = (variant, line) => [
    ...against(`${where}${NAMES[variant]}`, line, goals[variant]),
    // On a slow network, most processor time is spent on going to sleep and waking up.
    ...(where === '' ? processorChecks(NAMES[variant], line, floor, goals.processor?.[variant]) : []),
  ];
  return {
    text: load.text,
    loads: load.loads,
    checks: [...checks('withLock', ours(measured)), ...(awaited ? checks('awaited', awaited) : [])],
  };
}

const NAMES = { withLock: '`withLock`', awaited: 'awaited `release()`' };

function processorChecks(name, { micros: mine }, { micros: least }, goal) {
  const [what, ratio] = [`${name}: processor time of the client ÷ floor`, mine.client / least.client];
  const measured = times(ratio);
  return [
    goal === undefined ? information(what, measured) : atMost(what, ratio, goal, { measured }),
    information(
      `${name}: µs of processor per hold above the floor, client and server`,
      `${short(mine.client - least.client)}, ${short(mine.server - least.server)}`,
    ),
  ];
}
