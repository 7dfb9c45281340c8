/** What `npm run test:stores` needs to check alert rules and queries of the dashboard. Plain Node without dependencies. */
import { findOrFetch } from './unpacked-programs.mjs';

/**
 * Finds `promtool` of Prometheus, or fetches it where apt may be used (root on Debian or Ubuntu). Without it, the test that
 * needs it is skipped.
 *
 * @param {{ log?: (line: string) => void }} [options]
 * @returns {string | undefined} its path
 */
export function findOrFetchPromtool({ log = (line) => process.stderr.write(`${line}\n`) } = {}) {
  return findOrFetch('promtool', { from: 'prometheus', into: 'prometheus', log });
}
