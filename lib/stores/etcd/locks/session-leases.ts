import { later } from '../../../common/clock.js';
import type { TimerQueue } from '../../../common/timer-queue.js';
import { LockStoreError, type LockStoreClient, type MonotonicMs } from '../../port/lock-store.js';
import type { Endpoint } from '../connection/endpoint.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import { methods } from '../connection/protocol.js';

/** The shortest lease that etcd grants with its default election timeout, s. */
const SHORTEST = 2;
/** How much longer a lease is than the longest hold attached to it, where that is longer than `watchdogTimeout`. */
const SPARE = 1.2;
/** The shortest time between two regular keep-alives, ms. */
const SHORTEST_PERIOD = 200;

interface SessionLease {
  readonly id: number;
  /** ms */
  readonly lifetime: number;
  readonly period: number;
  /** The earliest time at which etcd may end it. */
  lastsUntil: MonotonicMs;
  usedAt: MonotonicMs;
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
 * The etcd leases of a session, which end everything that a dead process leaves. There is one for each range of lease
 * times; keeping one alive costs etcd no write.
 *
 * Each connection has its own. Holds move to them when they are renewed: a late write of an earlier connection then
 * finds the hold on another lease, and whatever it writes ends with the old lease.
 */
export class SessionLeases {
  /** The leases for new entries, by lifetime. */
  private readonly current = new Map<number, SessionLease>();
  /** All leases that are kept alive, by id. */
  private readonly alive = new Map<number, SessionLease>();
  private readonly granting = new Map<number, Promise<SessionLease>>();
  private stream: { send(id: number): void } | undefined;
  private generation = 0;
  private waiting: (() => void)[] = [];
  /** s */
  private readonly shortest: number;

  /**
   * @param isUsed whether an entry of this session is attached to a lease
   * @param onLost a lease has ended, and everything attached to it
   */
  constructor(
    private readonly connection: Pick<EtcdConnection, 'call' | 'trouble'>,
    private readonly timers: TimerQueue,
    private readonly client: Pick<LockStoreClient, 'now' | 'warn' | 'watchdogTimeout'>,
    private readonly patience: number,
    private readonly isUsed: (id: number) => boolean,
    private readonly onLost: () => void,
  ) {
    this.shortest = lifetimeFor(client.watchdogTimeout);
  }

  /** The id of a lease that lasts for at least this many ms; undefined if none is known to. */
  at(ms: number): number | undefined {
    const lease = this.current.get(this.secondsFor(ms));
    const now = this.client.now();
    if (lease === undefined || lease.lastsUntil < now + ms) return undefined;
    lease.usedAt = now;
    return lease.id;
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
      const lease = this.current.get(seconds) ?? (await this.grant(seconds));
      lease.usedAt = this.client.now();
      if (await this.confirmed(lease, until)) return lease.id;
    }
    throw notConfirmed();
  }

  isCurrent(id: number): boolean {
    const lease = this.alive.get(id);
    return lease !== undefined && [...this.current.values()].includes(lease);
  }

  isAlive(id: number): boolean {
    return this.alive.has(id);
  }

  /** Makes the lease last for this many ms from this call on. False if etcd has ended it. */
  async prolong(id: number, ms: number): Promise<boolean> {
    const until = later(this.client.now(), ms);
    const lease = this.alive.get(id);
    return lease !== undefined && (await this.confirmed(lease, until));
  }

  /**
   * Uses new leases from now on, because an entry on the old ones could not be deleted or may be written late. The old
   * ones end once the holds on them have moved.
   */
  replaceAll(): void {
    this.generation += 1;
    this.current.clear();
    this.granting.clear();
  }

  /** Grants a lease of this many s that is not kept alive. */
  async grantPassing(seconds: number): Promise<number> {
    const id = newLeaseId();
    await this.connection.call(methods.leaseGrant, { id, ttl: seconds });
    return id;
  }

  connected(endpoint: Endpoint): void {
    this.replaceAll();
    this.stream = endpoint.stream(methods.leaseKeepAlive, (reply) => {
      this.answered(reply.id, reply.ttl);
    });
    for (const lease of this.alive.values()) {
      lease.sent.length = 0;
      this.keepAlive(lease);
    }
  }

  disconnected(): void {
    this.stream = undefined;
    this.wake();
  }

  /** Finds out which leases etcd has ended. */
  verify(): void {
    for (const lease of this.alive.values()) this.keepAlive(lease);
  }

  /** Ends all of them, and everything attached to them. */
  async revoke(): Promise<void> {
    const all = [...this.alive.keys()];
    this.current.clear();
    this.alive.clear();
    await Promise.allSettled(all.map((id) => this.connection.call(methods.leaseRevoke, id)));
  }

  /** The lifetime of the lease for holds of this many ms, s. */
  private secondsFor(ms: number): number {
    let seconds = this.shortest;
    if (ms <= this.client.watchdogTimeout) return seconds;
    while (seconds * 1_000 < ms * SPARE) seconds = Math.ceil(seconds * SPARE);
    return seconds;
  }

  private grant(seconds: number): Promise<SessionLease> {
    const known = this.granting.get(seconds);
    if (known !== undefined) return known;
    const granted = this.grantNow(seconds).finally(() => {
      if (this.granting.get(seconds) === granted) this.granting.delete(seconds);
    });
    this.granting.set(seconds, granted);
    return granted;
  }

  private async grantNow(seconds: number): Promise<SessionLease> {
    const { generation } = this;
    const id = newLeaseId();
    const sentAt = this.client.now();
    const { ttl } = await this.connection.call(methods.leaseGrant, { id, ttl: seconds });
    const lifetime = ttl * 1_000;
    const isShortest = seconds === this.shortest;
    const served = isShortest ? this.client.watchdogTimeout : lifetime / SPARE;
    const period = Math.max(SHORTEST_PERIOD, Math.min((lifetime - served) / 2, lifetime / 3));
    const lastsUntil = later(sentAt, lifetime);
    const lease: SessionLease = { id, lifetime, period, lastsUntil, usedAt: sentAt, sent: [] };
    this.alive.set(id, lease);
    if (generation === this.generation) this.current.set(seconds, lease);
    this.keepAliveLater(lease);
    if (isShortest && ttl > seconds) {
      this.client.warn(
        `etcd grants no lease shorter than ${String(ttl)} s, since that follows its election timeout: locks of a ` +
          `process that crashes last for up to ${String(ttl + 1)} s. Lower --election-timeout to free them sooner.`,
      );
    }
    return lease;
  }

  private keepAliveLater(lease: SessionLease): void {
    this.timers.after(lease.period, () => {
      if (this.alive.get(lease.id) !== lease) return;
      if (this.isNeeded(lease)) {
        this.keepAlive(lease);
        this.keepAliveLater(lease);
      } else this.forget(lease);
    });
  }

  private isNeeded(lease: SessionLease): boolean {
    if (this.current.get(this.shortest) === lease) return true;
    return this.client.now() - lease.usedAt < lease.lifetime || this.isUsed(lease.id);
  }

  private keepAlive(lease: SessionLease): void {
    const { stream } = this;
    if (stream === undefined) return;
    lease.sent.push(this.client.now());
    stream.send(lease.id);
  }

  private answered(id: number, ttl: number): void {
    const lease = this.alive.get(id);
    const sentAt = lease?.sent.shift();
    if (lease === undefined || sentAt === undefined) return;
    if (ttl > 0) lease.lastsUntil = later(sentAt, ttl * 1_000);
    else this.forget(lease);
    this.wake();
    if (ttl <= 0) this.onLost();
  }

  private forget(lease: SessionLease): void {
    this.alive.delete(lease.id);
    for (const [seconds, current] of this.current) if (current === lease) this.current.delete(seconds);
  }

  private wake(): void {
    for (const done of this.waiting.splice(0)) done();
  }

  /** Whether it lasts until then; asks etcd unless that is known. Rejects if etcd does not reply in time. */
  private async confirmed(lease: SessionLease, until: MonotonicMs): Promise<boolean> {
    if (lease.lastsUntil >= until) return true;
    const deadline = later(this.client.now(), this.patience);
    this.keepAlive(lease);
    while (lease.lastsUntil < until) {
      if (!this.alive.has(lease.id)) return false;
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
