import { atLeast } from '../report/checks.mjs';
import { loadTable } from '../report/load-table.mjs';
import { times } from '../report/numbers.mjs';
import { bestPeer, measureLoad, only, recordOf, withFleets } from './measure-load.mjs';

/** Free locks: against what Redis needs, and ahead of all peers. */
export async function uncontendedRow(context, row, { goal, plan }) {
  const measured = await withFleets(
    context,
    { row, candidates: context.candidates, processes: 1 },
    (fleets) => measureLoad(context, fleets, { row, ...plan }),
  );
  const [[ours], [floor], peer] = [only(measured, 'ours'), only(measured, 'floor'), bestPeer(measured)];
  const ratio = (other) => ours.perSecond.median / other.perSecond.median;
  return {
    text: [loadTable(measured, { contended: false })],
    checks: [
      atLeast('holds/s ÷ floor', ratio(floor), goal, { measured: times(ratio(floor)) }),
      atLeast(`holds/s ÷ best peer, ${peer.candidate.label}`, ratio(peer), 1, {
        measured: times(ratio(peer)),
      }),
    ],
    data: { plan, candidates: measured.map(recordOf) },
  };
}
