import type {
  AskReply,
  LockStoreClient,
  MonotonicMs,
  OwnerId,
  PushedGrant,
  WallClockMs,
} from './lock-store.js';
import { storeFailure } from './store-failure.js';

/** What a server replied to a request with a place in the queue. */
export interface TimedAskReply {
  readonly reply: AskReply;
  /** That at which it queued the owner, µs; undefined if it did not. */
  readonly serverTime: number | undefined;
}

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

  /**
   * Opens the subscription for an owner that is to wait. Answers whether it still wants to when that has taken its time: else
   * the lock would be granted to nobody, and others would wait until that has been taken back.
   */
  async subscribe(owner: OwnerId, channel: { open(): Promise<void> }): Promise<boolean> {
    this.client.heldBack(owner);
    await channel.open();
    return this.client.resumes(owner);
  }

  /**
   * Asks with a place in the queue, and keeps what is needed to place a pushed grant in time.
   *
   * @param onMissed the reply is a grant that should have been pushed
   */
  async ask(
    owner: OwnerId,
    request: () => PromiseLike<TimedAskReply>,
    onMissed: () => void,
  ): Promise<AskReply> {
    const wasWaiting = this.isWaiting(owner);
    const sentAt = this.client.now();
    const isFirst = this.onAsk(owner, sentAt);
    let timed: TimedAskReply;
    try {
      timed = await request();
    } catch (error) {
      const failure = storeFailure(error);
      if (isFirst && !failure.inDoubt) this.forget(owner);
      throw failure;
    }
    const { reply, serverTime } = timed;
    if (serverTime === undefined) this.forget(owner);
    else this.onQueued(owner, sentAt, serverTime);
    if (reply.outcome === 'granted' && wasWaiting) onMissed();
    return reply;
  }

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
    // Anybody with the right may write to the channel. A waiter finds its grant by itself when it asks again.
    if (![token, serverTime, lease, tokens].every(isNumber)) return;
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

  isWaiting(owner: OwnerId): boolean {
    return this.waiting.get(owner)?.serverTime !== undefined;
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

function isNumber(word: string | undefined): boolean {
  return word !== undefined && /^\d+$/.test(word) && Number.isSafeInteger(Number(word));
}
