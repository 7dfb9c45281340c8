/**
 * Rules for limits: 1 for an exclusive lock, `Infinity` for readers, which only an exclusive hold excludes, or the
 * number of permits of a semaphore.
 */
interface Limited {
  readonly limit: number;
  /** How many permits of a semaphore it needs; else 1. */
  readonly permits: number;
}

/** Whether callers with these limits may use the same key: writers and readers go together. */
export function limitsAgree(one: number, other: number): boolean {
  return one === other || (!isOfSemaphore(one) && !isOfSemaphore(other));
}

export function isOfSemaphore(limit: number): boolean {
  return limit !== 1 && limit !== Infinity;
}

/**
 * How many of the queued requests, oldest first, hold the lock: as many as fit together. One that does not fit keeps
 * those behind it waiting.
 */
export function countHolders(queue: readonly Limited[]): number {
  const [first] = queue;
  if (first === undefined) return 0;
  const { limit } = first;
  let count = 1;
  let free = limit - first.permits;
  for (let next = queue[1]; next?.limit === limit && next.permits <= free; next = queue[count]) {
    free -= next.permits;
    count += 1;
  }
  return count;
}

/** How many more permits would be granted at once to requests with this limit, behind these. */
export function roomBehind(queue: readonly Limited[], limit: number, holders = countHolders(queue)): number {
  const [first] = queue;
  if (first === undefined) return limit;
  if (first.limit !== limit || holders < queue.length) return 0;
  return Math.max(0, limit - permitsOf(queue));
}

/** The sum of their permits. */
export function permitsOf(holders: Iterable<Pick<Limited, 'permits'>>): number {
  let sum = 0;
  for (const { permits } of holders) sum += permits;
  return sum;
}

/** The end of a holder's lease, or its remaining time. */
interface Ending {
  readonly end: number;
  readonly permits: number;
}

/**
 * When there may be room for a request, given the ends of the holders' leases: for an exclusive lock at the last end,
 * for a read lock at the first, for a semaphore as soon as enough permits are free. Undefined if there are no holders.
 */
export function firstRoom({ limit, permits }: Limited, holders: Iterable<Ending>): number | undefined {
  const leases = [...holders].sort((one, other) => one.end - other.end);
  if (limit === 1) return leases.at(-1)?.end;
  let free = limit - permitsOf(leases);
  return leases.find((lease) => (free += lease.permits) >= permits)?.end;
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
