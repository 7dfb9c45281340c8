import { readResults, saveResults } from '../../bench/report/results.mjs';
import { tableOf } from '../../bench/report/table.mjs';
import type { FailoverFigures } from './failover-figures.js';

/** The number of failovers to measure; each measurement has its own default. */
export const failoversWanted = (usual: number): number => Number(process.env['FIGURES_FAILOVERS'] ?? usual);

/** Reports the progress of the measurement. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The day of the measurement. */
export const today = (): string => new Date().toISOString().slice(0, 10);

/** Writes a part of the results of a store. Failovers keep the groups of servers that are not measured now. */
export function record(store: string, part: 'failovers' | 'quorum' | 'oneLock', figures: object): void {
  const known = part === 'failovers' ? (readResults(store).failovers as object | undefined) : undefined;
  progress(`written to ${saveResults(store, { [part]: known ? { ...known, ...figures } : figures })}`);
}

/** Prints the columns of the page, and those that explain them. */
export function printFailovers(lines: readonly (FailoverFigures & { readonly name: string })[]): void {
  const ms = ({ median, longest }: { readonly median: number; readonly longest: number }): string =>
    `${median.toFixed(0)} – ${longest.toFixed(0)}`;
  const columns = [
    ['', ({ name }) => name],
    ['first grant, ms', ({ firstGrant }) => ms(firstGrant)],
    ['each key, ms', ({ grantOfEachKey }) => ms(grantOfEachKey)],
    ['grants', ({ grants }) => String(grants)],
    ['held at a kill', ({ heldAtKill }) => String(heldAtKill)],
    ['lost', ({ lost, expiredAtRelease }) => String(lost + expiredAtRelease)],
    ['unknown', ({ unknownAtRelease }) => String(unknownAtRelease)],
    ['doubled', ({ doubledFenced, doubledUnfenced }) => String(doubledFenced + doubledUnfenced)],
    ['not refused by token', ({ doubledUnfenced }) => String(doubledUnfenced)],
    ['errors', ({ errors }) => JSON.stringify(errors)],
  ] as const satisfies readonly (readonly [string, (line: (typeof lines)[number]) => string])[];
  progress(`\n${tableOf(columns, lines)}\n`);
}
