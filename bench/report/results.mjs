import { existsSync, readFileSync, writeFileSync } from 'node:fs';

/** Each has a file in `bench/results`. Pages show them in this order. */
const STORES = ['redis', 'postgres', 'etcd', 'zookeeper'];

const fileOf = (store) => new URL(`../results/${store}.json`, import.meta.url);

/**
 * The latest results of a store.
 *
 * @typedef {object} Results
 * @property {import('./page.mjs').MeasuredRow[]} [rows]
 * @property {import('./scaling-page.mjs').MeasuredFleets} [fleets] M16
 * @property {any} [failovers] of `npm run figures:topologies` or `figures:stores`
 * @property {object} [steady] M17
 *
 * @param {string} store
 * @returns {Results}
 */
export function readResults(store) {
  const file = fileOf(store);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

/**
 * What the pages show: the rows on Redis, and the fleets on each store.
 *
 * @returns {{ rows: import('./page.mjs').MeasuredRow[], fleets: Record<string, import('./scaling-page.mjs').MeasuredFleets> }}
 */
export function shownResults() {
  const fleets = STORES.map((store) => [store, readResults(store).fleets]);
  return {
    rows: readResults('redis').rows ?? [],
    fleets: Object.fromEntries(fleets.filter(([, measured]) => measured !== undefined)),
  };
}

/**
 * Replaces parts of the results of a store.
 *
 * @param {string} store
 * @param {Results} parts
 * @returns {string} the file, for the user
 */
export function saveResults(store, parts) {
  writeFileSync(fileOf(store), textOf({ ...readResults(store), ...parts }));
  return `bench/results/${store}.json`;
}

/**
 * The same for rows. Those that are not measured now stay.
 *
 * @param {string} store
 * @param {import('./page.mjs').MeasuredRow[]} measured
 */
export function saveRows(store, measured) {
  const ids = measured.map(({ id }) => id);
  const others = (readResults(store).rows ?? []).filter(({ id }) => !ids.includes(id));
  const rows = [...others, ...measured].sort((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)));
  return saveResults(store, { rows });
}

/** JSON with one line for each part, and for each row, so that a new measurement changes one line. */
function textOf(results) {
  const json = (value) => JSON.stringify(value, readable);
  const parts = Object.entries(results).map(([name, part]) => {
    const text = Array.isArray(part) ? `[\n    ${part.map(json).join(',\n    ')}\n  ]` : json(part);
    return `  "${name}": ${text}`;
  });
  return `{\n${parts.join(',\n')}\n}\n`;
}

/** Limits figures to six digits. */
function readable(_name, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(6)) : value;
}
