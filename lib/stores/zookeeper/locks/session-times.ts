/** What is known of a session with the servers. */
export interface SessionTimes {
  /** How long the servers keep it without contact, ms. */
  readonly timeout: number;
  /** Their `tickTime`, ms. */
  readonly tick: number;
}

/**
 * The timeout of a session whose contact keeps leases of that length, ms. The servers must not end it before the holder's
 * deadline, also where the holder's clock is slower. They count from when their leader heard of it, which may be before the
 * last answer: by half a tick, since the other servers report contacts to the leader that often, and by one ping. A ping
 * takes half of what the tenth is for; clocks of different speed and busy servers have the rest.
 */
export function timeoutForLease(lease: number, tick: number): number {
  return Math.ceil(lease * 1.1 + tick / 2) + 1;
}

/** The longest lease that such a session keeps without contact, ms. */
export function longestLease({ timeout, tick }: SessionTimes): number {
  return Math.max(0, Math.floor((timeout - tick / 2) / 1.1));
}

/**
 * How long after the last contact all of a session is gone, ms: the leader hears of a contact half a tick late, and ends
 * sessions once a tick.
 */
export function goneAfter({ timeout, tick }: SessionTimes): number {
  return Math.ceil(timeout + 1.5 * tick);
}

/** How often servers hear of a session at least, ms. */
export function pingInterval(sessionTimeout: number): number {
  return Math.min(1_000, sessionTimeout / 30);
}
