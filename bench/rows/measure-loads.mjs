import { loadTable } from '../report/load-table.mjs';
import { measureLoad, withFleets } from './measure-load.mjs';

/**
 * Measures loads one after another on the same fleets.
 *
 * @typedef {object} Load
 * @property {string} name distinguishes the loads of a row, and is the title of its table
 * @property {object} plan
 * @property {(candidate: import('../candidates/candidates.mjs').Candidate) => boolean} [which] by default all candidates
 *
 * @param {object} context
 * @param {{ row: string, candidates: object[], processes: number, sharing?: object }} fleets
 * @param {readonly Load[]} loads
 * @param {object} [columns] of the tables, see `loadTable`
 * @returns {Promise<{ measured: import('./measure-load.mjs').Measured[][], text: string[], loads: object[] }>} of each load
 */
export async function measureLoads(context, fleets, loads, columns = {}) {
  const { costs } = context;
  return await withFleets(context, fleets, async (opened) => {
    const all = { measured: [], text: [], loads: [] };
    for (const { name, plan, which = () => true } of loads) {
      const chosen = opened.filter(({ candidate }) => which(candidate));
      const measured = await measureLoad(context, chosen, { row: `${fleets.row} ${name}`.trim(), ...plan });
      const table = loadTable(measured, { contended: true, costs, ...columns });
      all.measured.push(measured);
      all.text.push(name === '' ? table : `${name}:\n${table}`);
      all.loads.push(loadOf(name, plan, measured));
    }
    return all;
  });
}

/**
 * What the pages show of a load.
 *
 * @param {string} name distinguishes the loads of a row
 */
function loadOf(name, plan, measured) {
  const candidates = measured.map(
    ({ candidate: { label, kind }, perSecond, turns: { least, most }, commands }) => ({
      label,
      kind,
      perSecond,
      turns: { least, most },
      commands,
    }),
  );
  return { name, plan, candidates };
}
