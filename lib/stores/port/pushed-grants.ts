import type {
  AcquireReply,
  LockStoreClient,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  WallClockMs,
} from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** A server's reply to a request that queues its owner. */
export interface TimedAcquireReply {
  readonly reply: AcquireReply;
  /** When the server queued the owner, µs; undefined if it did not. */
  readonly serverTime: number | undefined;
}

/** Local and server time of one exchange with the server, about a key. */
interface ClockPair {
  readonly key: string;
  readonly sentAt: MonotonicMs;
  /** µs; undefined until the reply has arrived. */
  readonly serverTime: number | undefined;
}

/** How long the times of a granted owner are kept in case it requests again, ms: longer than a request takes. */
const CLOCK_RETENTION = 10_000;

/** Reads the messages of the channel, and converts pushed leases to local time without synchronised clocks. */
export class PushedGrants {
  /** Owners that wait. */
  private readonly waiting = new Map<OwnerId, ClockPair>();
  /** Owners that received a grant, oldest first. */
  private readonly delivered = new Map<OwnerId, { readonly clock: ClockPair; readonly at: MonotonicMs }>();

  constructor(private readonly client: LockStoreClient) {}

  /**
   * Sends a request that queues the owner, and keeps the times needed to date a pushed grant.
   *
   * @param onMissed called if the reply is a grant that should have been pushed
   */
  async ask(
    { key, owner }: { readonly key: string; readonly owner: OwnerId },
    request: () => PromiseLike<TimedAcquireReply>,
    onMissed: () => void,
  ): Promise<AcquireReply> {
    const wasWaiting = this.isWaiting(owner);
    const sentAt = this.client.now();
    const isFirst = this.onAsk(key, owner, sentAt);
    let timed: TimedAcquireReply;
    try {
      timed = await request();
    } catch (error) {
      const failure = storeFailure(error);
      if (isFirst && !failure.inDoubt) this.forget(owner);
      throw failure;
    }
    const { reply, serverTime } = timed;
    if (serverTime === undefined) this.forget(owner);
    else this.onQueued(key, owner, sentAt, serverTime);
    if (reply.outcome === 'granted' && wasWaiting) onMissed();
    return reply;
  }

  /** A request to queue this owner is about to be sent. Returns whether it is the first. */
  onAsk(key: string, owner: OwnerId, sentAt: MonotonicMs): boolean {
    if (this.waiting.has(owner)) return false;
    // Another grant may follow the one before this request just as late: its time counts from the same exchange.
    const known = this.delivered.get(owner)?.clock;
    this.delivered.delete(owner);
    this.waiting.set(owner, known ?? { key, sentAt, serverTime: undefined });
    return known === undefined;
  }

  /** The owner is queued; the reply contained the server's time. */
  onQueued(key: string, owner: OwnerId, sentAt: MonotonicMs, serverTime: number): void {
    if (this.waiting.has(owner)) this.waiting.set(owner, { key, sentAt, serverTime });
  }

  /** The connection was lost: the next grant may be dated by another server's clock, so it counts from the last request. */
  disconnected(): void {
    const undated = ({ key, sentAt }: ClockPair): ClockPair => ({ key, sentAt, serverTime: undefined });
    for (const [owner, clock] of this.waiting) this.waiting.set(owner, undated(clock));
    for (const [owner, { clock, at }] of this.delivered)
      this.delivered.set(owner, { clock: undated(clock), at });
  }

  /** Whether the owner has been queued, or is about to be. */
  knows(owner: OwnerId): boolean {
    return this.waiting.has(owner) || this.delivered.has(owner);
  }

  /** Returns whether it knew the owner. */
  forget(owner: OwnerId): boolean {
    const wasWaiting = this.waiting.delete(owner);
    return this.delivered.delete(owner) || wasWaiting;
  }

  /** Forgets the waiters of all keys but these; returns whether there were any. */
  forgetUnless(concerns: (key: string) => boolean): boolean {
    const { size } = this.waiting;
    for (const [owner, { key }] of this.waiting) if (!concerns(key)) this.forget(owner);
    return this.waiting.size < size;
  }

  /** `granted <owner> <token> <server time, µs> <claim lease, ms> <tokens> <1 if others wait>` or `broken <owner>` */
  receive(text: string): void {
    const [kind, name, token, serverTime, lease, tokens, others] = text.split(' ');
    const owner = name as OwnerId;
    // Its times are kept, as it may continue to wait.
    if (kind === 'broken') this.client.broken(owner);
    if (kind !== 'granted') return;
    // Other clients with permission may write to the channel. A waiter finds its grant at its next request.
    if (![token, serverTime, lease, tokens].every(isNumber)) return;
    const clock = this.waiting.get(owner) ?? this.delivered.get(owner)?.clock;
    // The owner no longer waits: its withdrawal is in flight.
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

  isWaiting(owner: OwnerId): boolean {
    return this.waiting.get(owner)?.serverTime !== undefined;
  }

  /** Most are removed when they are released. */
  private forgetOld(now: MonotonicMs): void {
    for (const [owner, { at }] of this.delivered) {
      if (now - at < CLOCK_RETENTION) return;
      this.delivered.delete(owner);
    }
  }

  private startOf({ sentAt, serverTime }: ClockPair, granted: number): MonotonicMs {
    // The grant may overtake the reply: in any case the lease began after the request was sent.
    if (serverTime === undefined) return sentAt;
    const started = sentAt + (granted - serverTime) / 1000;
    // A server's clock that jumped ahead must not lengthen the lease.
    return Math.min(started, this.client.now()) as MonotonicMs;
  }
}

function isNumber(word: string | undefined): boolean {
  return word !== undefined && /^\d+$/.test(word) && Number.isSafeInteger(Number(word));
}
