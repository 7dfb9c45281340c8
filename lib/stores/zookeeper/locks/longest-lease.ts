import { pingInterval } from '../connection/zookeeper-socket.js';

/**
 * How long a lease may be in a session with that timeout, ms: it has to be over, also by a clock that is slower, before the
 * servers can end the session. They count from the last time that their leader heard of it, which may be before the last
 * answer: by one ping, and by half a tick after which a server tells the leader whom it has heard of. A session lasts two
 * ticks at least, so that both are a third of its timeout together.
 */
export function longestLease(sessionTimeout: number): number {
  return Math.floor((sessionTimeout - marginOf(sessionTimeout)) / 1.01);
}

/** The session's timeout for leases of that length, ms. */
export function timeoutForLease(lease: number): number {
  const short = Math.ceil(lease * 1.01 * 2) + 1;
  return marginOf(short) < LARGEST_MARGIN ? short : Math.ceil(lease * 1.01) + LARGEST_MARGIN + 1;
}

const LARGEST_MARGIN = 3_000;

function marginOf(sessionTimeout: number): number {
  return Math.max(pingInterval(sessionTimeout), Math.min(LARGEST_MARGIN, sessionTimeout / 2));
}
