import { above, atLeast, information } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { short, times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, ours, perSecondRatio, withFleets } from './measure-load.mjs';

/**
 * Measures uncontended locks against the floor and the peers.
 *
 * @param {object} context
 * @param {string} row
 * @param {object} load `where`: prefix of each check; `whenWarm`: called after the warm-up
 */
export async function measureFreeLocks(context, row, { candidates, url, plan, whenWarm, where = '', goals }) {
  const fleets = { row, candidates, processes: 1, ...(url === undefined ? {} : { url }) };
  const measured = await withFleets(context, fleets, (opened) =>
    measureLoad(context, opened, { row, whenWarm, ...plan }),
  );
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
  return {
    measured,
    table: loadTable(measured, { contended: false }),
    checks: [
      ...against(`${where}\`withLock\``, ours(measured), goals.withLock),
      // On a slow network, most processor time is spent on going to sleep and waking up.
      ...(where === '' ? [processorCheck(ours(measured), floor)] : []),
      ...(awaited ? against(`${where}awaited \`release()\``, awaited, goals.awaited) : []),
    ],
  };
}

function processorCheck({ micros: mine }, { micros: least }) {
  return information(
    '`withLock`: µs of processor per hold above the floor, client and server',
    `${short(mine.client - least.client)}, ${short(mine.server - least.server)}`,
  );
}
