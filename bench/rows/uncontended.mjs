import { above, atLeast } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, ours, perSecondRatio, withFleets } from './measure-load.mjs';

/**
 * Free locks: against what Redis needs, and ahead of all peers.
 *
 * @param {object} context
 * @param {string} row
 * @param {object} load `where` is said in front of each check
 */
export async function measureFreeLocks(context, row, { candidates, url, plan, where = '', goals }) {
  const fleets = { row, candidates, processes: 1, ...(url === undefined ? {} : { url }) };
  const measured = await withFleets(context, fleets, (opened) =>
    measureLoad(context, opened, { row, ...plan }),
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
      ...(awaited ? against(`${where}awaited \`release()\``, awaited, goals.awaited) : []),
    ],
  };
}
