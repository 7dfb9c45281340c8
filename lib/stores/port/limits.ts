/**
 * What follows from limits: 1 for all of a lock, `Infinity` for readers, whom only a hold of all of it keeps out, or the
 * number of a semaphore.
 */
interface Limited {
  readonly limit: number;
}

/** Whether callers with these limits may use the same key: all of it goes with readers. */
export function limitsAgree(one: number, other: number): boolean {
  return one === other || (!isOfSemaphore(one) && !isOfSemaphore(other));
}

export function isOfSemaphore(limit: number): boolean {
  return limit !== 1 && limit !== Infinity;
}

/** How many of those who asked for a lock, the oldest first, hold it: as many as fit together. */
export function countHolders(queue: readonly Limited[]): number {
  const [first] = queue;
  if (first === undefined) return 0;
  let count = 1;
  while (count < first.limit && queue[count]?.limit === first.limit) count += 1;
  return count;
}

/** How many more with that limit would hold the lock at once, behind these. */
export function roomBehind(queue: readonly Limited[], limit: number, holders = countHolders(queue)): number {
  const [first] = queue;
  if (first === undefined) return limit;
  if (first.limit !== limit || holders < queue.length) return 0;
  return Math.max(0, limit - holders);
}

/**
 * When there may be room, given the ends of the holders' leases, or what is left of them: for all of a lock with the last
 * of them, for a share of it with the first. Undefined if there are none.
 */
export function firstRoom(limit: number, ends: Iterable<number>): number | undefined {
  let room: number | undefined;
  for (const end of ends) room = limit === 1 ? Math.max(end, room ?? end) : Math.min(end, room ?? end);
  return room;
}

/** As it is written in a store: neither Lua nor JSON has `Infinity`. */
export function writtenLimit(limit: number): number {
  return limit === Infinity ? 0 : limit;
}

export function readLimit(written: number): number {
  return written === 0 ? Infinity : written;
}
