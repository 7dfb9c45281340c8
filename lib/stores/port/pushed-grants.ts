import type { LockStoreClient, MonotonicMs, OwnerId, PushedGrant, WallClockMs } from './lock-store.js';

/** The local and the server's time of one exchange with the server. */
interface ClockPair {
  readonly sentAt: MonotonicMs;
  /** µs; undefined until the reply has come. */
  readonly serverTime: number | undefined;
}

/** How long the times of an owner that was granted are kept, ms, should it ask again: longer than a request takes. */
const CLOCK_RETENTION = 10_000;

/** Reads the messages of the channel, and places pushed leases on the local clock without synchronised clocks (P13). */
export class PushedGrants {
  /** Of owners that wait. */
  private readonly waiting = new Map<OwnerId, ClockPair>();
  /** Of owners that were brought a grant, the oldest first. */
  private readonly delivered = new Map<OwnerId, { readonly clock: ClockPair; readonly at: MonotonicMs }>();

  constructor(private readonly client: LockStoreClient) {}

  /** A request to queue this owner is on its way. Answers whether it is the first. */
  onAsk(owner: OwnerId, sentAt: MonotonicMs): boolean {
    if (this.waiting.has(owner)) return false;
    // A grant that was brought before this request may be followed by another as late: its time counts from then.
    const known = this.delivered.get(owner)?.clock;
    this.delivered.delete(owner);
    this.waiting.set(owner, known ?? { sentAt, serverTime: undefined });
    return known === undefined;
  }

  /** The owner is queued; the reply carried the server's time. */
  onQueued(owner: OwnerId, sentAt: MonotonicMs, serverTime: number): void {
    if (this.waiting.has(owner)) this.waiting.set(owner, { sentAt, serverTime });
  }

  isWaiting(owner: OwnerId): boolean {
    return this.waiting.get(owner)?.serverTime !== undefined;
  }

  /** Whether that owner has asked for a place. */
  knows(owner: OwnerId): boolean {
    return this.waiting.has(owner) || this.delivered.has(owner);
  }

  forget(owner: OwnerId): void {
    this.waiting.delete(owner);
    this.delivered.delete(owner);
  }

  /** `granted <owner> <token> <server time, µs> <claim lease, ms> <tokens> <1 if others wait>` or `broken <owner>` */
  receive(text: string): void {
    const [kind, name, token, serverTime, lease, tokens, others] = text.split(' ');
    const owner = name as OwnerId;
    // What is known of its time stays true, if it goes on waiting.
    if (kind === 'broken') this.client.broken(owner);
    if (kind !== 'granted') return;
    const clock = this.waiting.get(owner) ?? this.delivered.get(owner)?.clock;
    // Nobody waits under that owner any more: its withdrawal is on the way.
    if (clock === undefined) return;
    const now = this.client.now();
    this.forget(owner);
    this.forgetOld(now);
    this.delivered.set(owner, { clock, at: now });
    const granted = Number(serverTime);
    const grant: PushedGrant = {
      token: Number(token),
      since: Math.floor(granted / 1000) as WallClockMs,
      startedAt: this.startOf(clock, granted),
      lease: Number(lease),
      tokens: Number(tokens),
      othersWait: others === '1',
    };
    this.client.granted(owner, grant);
  }

  /** Most are forgotten with their release. */
  private forgetOld(now: MonotonicMs): void {
    for (const [owner, { at }] of this.delivered) {
      if (now - at < CLOCK_RETENTION) return;
      this.delivered.delete(owner);
    }
  }

  private startOf({ sentAt, serverTime }: ClockPair, granted: number): MonotonicMs {
    // The reply may come after the grant: then the lease began after the request, at any rate.
    if (serverTime === undefined) return sentAt;
    const started = sentAt + (granted - serverTime) / 1000;
    // A server's clock that jumped ahead must not lengthen the lease.
    return Math.min(started, this.client.now()) as MonotonicMs;
  }
}
