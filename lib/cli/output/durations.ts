import { UsageError } from '../usage-error.js';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
]);

/** ms of a duration such as `500ms`, `10s`, `5m` or `1h`; 0 needs no unit. */
export function parseDuration(option: string, text: string): number {
  if (text === '0') return 0;
  const [, amount = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
  const factor = UNITS.get(unit);
  if (factor === undefined) {
    throw new UsageError(`--${option} must be a duration with its unit, such as 500ms, 10s, 5m or 1h.`);
  }
  return Number(amount) * factor;
}

/** For people: two units at most. */
export function shownDuration(ms: number): string {
  if (ms === Infinity) return 'for ever';
  if (ms < 1_000) return `${ms.toFixed(0)} ms`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
