/**
 * Rules for limits: 1 for an exclusive lock, `Infinity` for readers, which only an exclusive hold excludes, or the number of
 * permits of a semaphore.
 */
interface Limited {
  readonly limit: number;
}

/** Whether callers with these limits may use the same key: writers and readers go together. */
export function limitsAgree(one: number, other: number): boolean {
  return one === other || (!isOfSemaphore(one) && !isOfSemaphore(other));
}

export function isOfSemaphore(limit: number): boolean {
  return limit !== 1 && limit !== Infinity;
}

/** How many of the queued requests, the oldest first, hold the lock: as many as may hold it together. */
export function countHolders(queue: readonly Limited[]): number {
  const [first] = queue;
  if (first === undefined) return 0;
  let count = 1;
  while (count < first.limit && queue[count]?.limit === first.limit) count += 1;
  return count;
}

/** How many more requests with that limit would hold the lock at once, behind these. */
export function roomBehind(queue: readonly Limited[], limit: number, holders = countHolders(queue)): number {
  const [first] = queue;
  if (first === undefined) return limit;
  if (first.limit !== limit || holders < queue.length) return 0;
  return Math.max(0, limit - holders);
}

/**
 * When there may be room, given the ends of the holders' leases (or their remaining times): for an exclusive lock with the
 * last of them, for a read lock or a permit with the first. Undefined if there are none.
 */
export function firstRoom(limit: number, ends: Iterable<number>): number | undefined {
  let room: number | undefined;
  for (const end of ends) room = limit === 1 ? Math.max(end, room ?? end) : Math.min(end, room ?? end);
  return room;
}

/** The limit as stores write it: neither Lua nor JSON has `Infinity`. */
export function writtenLimit(limit: number): number {
  return limit === Infinity ? 0 : limit;
}

export function readLimit(written: number): number {
  return written === 0 ? Infinity : written;
}

/** The label as a word without blanks; empty if there is none. */
export function writtenLabel(label: string | undefined): string {
  return label === undefined ? '' : encodeURIComponent(label);
}

export function readLabel(written: string | number | undefined): string | undefined {
  return written === undefined || written === '' ? undefined : decodeURIComponent(String(written));
}
