/** A duration in a message: whole milliseconds. */
export function inMs(ms: number): string {
  return `${String(Math.round(ms))} ms`;
}

/** For display: two units at most. */
export function shownDuration(ms: number): string {
  if (ms === Infinity) return 'for ever';
  if (ms < 1_000) return inMs(ms);
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${String(minutes)} min ${String(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${String(hours)} h ${String(minutes % 60)} min`;
  return `${String(Math.floor(hours / 24))} d ${String(hours % 24)} h`;
}
