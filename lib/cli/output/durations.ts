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
