import type { ShownHold } from '../wire.js';

/** `350 ms`, `2.5 s`, `3 min 07 s`, `5 h 02 min` or `3 days`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${String(Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor(whole / 60) % 60];
  if (hours === 0) return `${String(minutes)} min ${String(whole % 60).padStart(2, '0')} s`;
  if (hours < 48) return `${String(hours)} h ${String(minutes).padStart(2, '0')} min`;
  return `${String(Math.floor(hours / 24))} days`;
}

/** @param isBound whether `ms` is only an upper bound */
export function leaseLeft(ms: number | null, isBound: boolean): string {
  return ms === null ? 'no end' : `${isBound ? '≤ ' : ''}${duration(ms)}`;
}

/** The time of day, with the date if it is not today. */
export function clock(at: number): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}

export function sharing({
  mode,
  limit,
  permits = 1,
}: Pick<ShownHold, 'mode' | 'limit'> & Partial<Pick<ShownHold, 'permits'>>): string {
  if (mode === 'exclusive') return 'exclusive';
  if (limit === null) return 'shared';
  return permits === 1 ? `at most ${String(limit)}` : `${String(permits)} of at most ${String(limit)}`;
}

export function hostAndPid(process: { readonly host: string; readonly pid: number } | null): string {
  return process === null ? 'other software' : `${process.host} / ${String(process.pid)}`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}
