import { later } from '../../common/clock.js';
import type { TimerQueue } from '../../common/timer-queue.js';
import { LockStoreError, type LockStoreClient, type MonotonicMs } from '../port/lock-store.js';
import type { Endpoint } from './connection/endpoint.js';
import type { EtcdConnection } from './connection/etcd-connection.js';
import { methods } from './connection/protocol.js';

/** The shortest lease that etcd grants with its default election timeout, s. */
const SHORTEST = 2;
/** How much longer a lease is than the holds that it is for, where those are longer than `watchdogTimeout`. */
const SPARE = 1.2;
/** The shortest time between two regular keep-alives, ms. */
const SHORTEST_PERIOD = 200;

interface SessionLease {
  readonly id: number;
  /** ms */
  readonly lifetime: number;
  /** The earliest time at which etcd may end it. */
  lastsUntil: MonotonicMs;
  /** When each keep-alive without a reply was sent, oldest first. */
  readonly sent: MonotonicMs[];
}

/**
 * The lifetime of the etcd lease for holds that the watchdog renews, s. It leaves a sixth for the time between two
 * keep-alives. etcd ends leases up to half a second late, so that the locks of a dead process are free after at most
 * 1.5 times `watchdogTimeout`, rounded up to whole seconds, or 3 s if that is longer.
 */
export function lifetimeFor(watchdogTimeout: number): number {
  const most = Math.ceil((watchdogTimeout * 3) / 2_000) - 1;
  const least = Math.ceil(watchdogTimeout / 1_000);
  return Math.max(SHORTEST, least, Math.min(Math.ceil((watchdogTimeout * 7) / 6_000), most));
}

/**
 * The etcd leases of a session, which end everything that a dead process leaves. The one for everything that lasts up to
 * `watchdogTimeout` is kept alive. Those for ranges of longer times are prolonged when a hold needs it. Neither costs etcd a
 * write.
 */
export class SessionLeases {
  /** By lifetime in seconds. */
  private readonly all = new Map<number, SessionLease>();
  private readonly granting = new Map<number, Promise<SessionLease>>();
  private stream: { send(id: number): void } | undefined;
  private waiting: (() => void)[] = [];
  /** s */
  private readonly shortest: number;

  /** @param onEnded etcd has ended a lease, and everything attached to it; `isSession`: the shortest one */
  constructor(
    private readonly connection: Pick<EtcdConnection, 'call' | 'trouble'>,
    private readonly timers: TimerQueue,
    private readonly client: Pick<LockStoreClient, 'now' | 'warn' | 'watchdogTimeout'>,
    private readonly patience: number,
    private readonly onEnded: (isSession: boolean) => void,
  ) {
    this.shortest = lifetimeFor(client.watchdogTimeout);
  }

  has(id: number): boolean {
    for (const lease of this.all.values()) if (lease.id === id) return true;
    return false;
  }

  /** Until when the session lasts at least. */
  get lastsUntil(): MonotonicMs {
    return this.all.get(this.shortest)?.lastsUntil ?? (-Infinity as MonotonicMs);
  }

  /** The id of the lease that the session lasts as long as, on a connection that is being prepared. */
  async session(via: Pick<EtcdConnection, 'call'>): Promise<number> {
    return (this.all.get(this.shortest) ?? (await this.grant(this.shortest, via))).id;
  }

  /** The id of a lease that lasts for at least this many ms; undefined if none is known to. */
  at(ms: number): number | undefined {
    const lease = this.all.get(this.secondsFor(ms));
    return lease !== undefined && lease.lastsUntil >= this.client.now() + ms ? lease.id : undefined;
  }

  /** Like {@link at}, but grants or prolongs a lease if there is none; it lasts for this many ms from this call on. */
  async for(ms: number): Promise<number> {
    const known = this.at(ms);
    if (known !== undefined) return known;
    const until = later(this.client.now(), ms);
    const seconds = this.secondsFor(ms);
    for (let tries = 0; tries < 2; tries++) {
      const { trouble } = this.connection;
      if (trouble !== undefined) throw trouble;
      const lease = this.all.get(seconds) ?? (await this.grant(seconds, this.connection));
      if (await this.confirmed(lease, until)) return lease.id;
    }
    throw notConfirmed();
  }

  /** Grants a lease of this many s that is not kept alive. */
  async grantPassing(seconds: number): Promise<number> {
    const id = newLeaseId();
    await this.connection.call(methods.leaseGrant, { id, ttl: seconds });
    return id;
  }

  connected(endpoint: Endpoint): void {
    this.stream = endpoint.stream(methods.leaseKeepAlive, (reply) => this.answered(reply.id, reply.ttl));
    for (const lease of this.all.values()) lease.sent.length = 0;
    const session = this.all.get(this.shortest);
    if (session !== undefined) this.keepAlive(session);
  }

  disconnected(): void {
    this.stream = undefined;
    this.wake();
  }

  /** Finds out which leases etcd has ended. */
  verify(): void {
    for (const lease of this.all.values()) this.keepAlive(lease);
  }

  /** etcd has ended the session's lease. */
  forgetSession(): void {
    this.all.delete(this.shortest);
  }

  /** Ends all of them, and everything attached to them. */
  async revoke(): Promise<void> {
    const all = [...this.all.values()];
    this.all.clear();
    await Promise.allSettled(all.map(({ id }) => this.connection.call(methods.leaseRevoke, id)));
  }

  /** The lifetime of the lease for holds of this many ms, s. */
  private secondsFor(ms: number): number {
    let seconds = this.shortest;
    if (ms <= this.client.watchdogTimeout) return seconds;
    while (seconds * 1_000 < ms * SPARE) seconds = Math.ceil(seconds * SPARE);
    return seconds;
  }

  private grant(seconds: number, via: Pick<EtcdConnection, 'call'>): Promise<SessionLease> {
    const known = this.granting.get(seconds);
    if (known !== undefined) return known;
    const granted = this.grantNow(seconds, via).finally(() => this.granting.delete(seconds));
    this.granting.set(seconds, granted);
    return granted;
  }

  private async grantNow(seconds: number, via: Pick<EtcdConnection, 'call'>): Promise<SessionLease> {
    const id = newLeaseId();
    const sentAt = this.client.now();
    const { ttl } = await via.call(methods.leaseGrant, { id, ttl: seconds });
    const lifetime = ttl * 1_000;
    const lease: SessionLease = { id, lifetime, lastsUntil: later(sentAt, lifetime), sent: [] };
    this.all.set(seconds, lease);
    if (seconds !== this.shortest) return lease;
    const spare = lifetime - this.client.watchdogTimeout;
    this.keepAliveEvery(Math.max(SHORTEST_PERIOD, Math.min(spare / 2, lifetime / 3)), lease);
    if (ttl > seconds) {
      this.client.warn(
        `etcd grants no lease shorter than ${String(ttl)} s, since that follows its election timeout: locks of a ` +
          `process that crashes last for up to ${String(ttl + 1)} s. Lower --election-timeout to free them sooner.`,
      );
    }
    return lease;
  }

  private keepAliveEvery(period: number, lease: SessionLease): void {
    this.timers.after(period, () => {
      if (this.all.get(this.shortest) !== lease) return;
      this.keepAlive(lease);
      this.keepAliveEvery(period, lease);
    });
  }

  private keepAlive(lease: SessionLease): void {
    const { stream } = this;
    if (stream === undefined) return;
    lease.sent.push(this.client.now());
    stream.send(lease.id);
  }

  private answered(id: number, ttl: number): void {
    for (const [seconds, lease] of this.all) {
      if (lease.id !== id) continue;
      const sentAt = lease.sent.shift();
      if (sentAt === undefined) return;
      if (ttl > 0) lease.lastsUntil = later(sentAt, ttl * 1_000);
      else this.all.delete(seconds);
      this.wake();
      if (ttl <= 0) this.onEnded(seconds === this.shortest);
      return;
    }
  }

  private wake(): void {
    for (const done of this.waiting.splice(0)) done();
  }

  /** Whether it lasts until then; asks etcd unless that is known. Rejects if etcd does not reply in time. */
  private async confirmed(lease: SessionLease, until: MonotonicMs): Promise<boolean> {
    if (lease.lastsUntil >= until) return true;
    const deadline = later(this.client.now(), this.patience);
    const lastSent = lease.sent.at(-1);
    // Thousands of callers may wait for the same reply.
    if (lastSent === undefined || later(lastSent, lease.lifetime) < until) this.keepAlive(lease);
    while (lease.lastsUntil < until) {
      if (!this.has(lease.id)) return false;
      const { trouble } = this.connection;
      if (trouble !== undefined) throw trouble;
      const left = deadline - this.client.now();
      if (left <= 0) throw notConfirmed();
      await this.timers.within(left, new Promise<void>((resolve) => this.waiting.push(resolve)));
    }
    return true;
  }
}

function notConfirmed(): LockStoreError {
  const message = 'etcd did not confirm the lease that locks are attached to';
  return new LockStoreError(message, { inDoubt: false, retryable: true, unreachable: true });
}

/** A random id that a number holds exactly. */
function newLeaseId(): number {
  return 1 + Math.floor(Math.random() * (Number.MAX_SAFE_INTEGER - 1));
}
