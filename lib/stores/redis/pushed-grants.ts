import type { LockStoreClient, MonotonicMs, OwnerId, PushedGrant, WallClockMs } from '../lock-store.js';

/** The local and the server's time of one exchange with the server. */
interface ClockPair {
  readonly sentAt: MonotonicMs;
  /** µs; undefined until the reply has come. */
  readonly serverTime: number | undefined;
}

/** Reads the messages of the channel, and places pushed leases on the local clock without synchronised clocks (P13). */
export class PushedGrants {
  private readonly clocks = new Map<OwnerId, ClockPair>();

  constructor(private readonly client: LockStoreClient) {}

  /** A request to queue this owner is on its way. */
  asking(owner: OwnerId, sentAt: MonotonicMs): void {
    if (!this.clocks.has(owner)) this.clocks.set(owner, { sentAt, serverTime: undefined });
  }

  /** The owner is queued; the reply carried the server's time. */
  queued(owner: OwnerId, sentAt: MonotonicMs, serverTime: number): void {
    if (this.clocks.has(owner)) this.clocks.set(owner, { sentAt, serverTime });
  }

  isWaiting(owner: OwnerId): boolean {
    return this.clocks.get(owner)?.serverTime !== undefined;
  }

  /** Whether that owner has asked for a place. */
  knows(owner: OwnerId): boolean {
    return this.clocks.has(owner);
  }

  forget(owner: OwnerId): void {
    this.clocks.delete(owner);
  }

  /** `granted <owner> <token> <server time, µs> <claim lease, ms> <tokens> <1 if others wait>` or `broken <owner>` */
  receive(text: string): void {
    const [kind, name, token, serverTime, lease, tokens, others] = text.split(' ');
    const owner = name as OwnerId;
    if (kind === 'broken') this.client.broken(owner);
    if (kind !== 'granted') return;
    const clock = this.clocks.get(owner);
    // Nobody waits under that owner any more: its withdrawal is on the way.
    if (clock === undefined) return;
    // Taken or refused, this grant is the owner's last word from here: asking anew brings a new pair.
    this.clocks.delete(owner);
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

  private startOf({ sentAt, serverTime }: ClockPair, granted: number): MonotonicMs {
    // The reply may come after the grant: then the lease began after the request, at any rate.
    if (serverTime === undefined) return sentAt;
    const started = sentAt + (granted - serverTime) / 1000;
    // A server's clock that jumped ahead must not lengthen the lease.
    return Math.min(started, this.client.now()) as MonotonicMs;
  }
}
