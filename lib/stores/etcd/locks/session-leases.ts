import { later } from '../../../common/clock.js';
import type { TimerQueue } from '../../../common/timer-queue.js';
import { LockStoreError, type MonotonicMs } from '../../port/lock-store.js';
import type { Endpoint } from '../connection/endpoint.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import { methods } from '../protocol/methods.js';

/** How much longer than what lives on it a lease lasts at least, ms. */
const RESERVE = 2_000;
/** The shortest lifetime, s; each next one is twice as long. */
const SHORTEST = 8;

interface SessionLease {
  readonly id: number;
  /** ms */
  readonly lifetime: number;
  /** When etcd may end it at the earliest. */
  lastsUntil: MonotonicMs;
  /** When those that are not answered yet were sent, the oldest first. */
  readonly asked: MonotonicMs[];
}

/**
 * etcd's own leases: they end what a process leaves behind that nobody waits for. A session has few, by how long what lives
 * on them lasts, and keeps them alive, which costs etcd no write.
 */
export class SessionLeases {
  private readonly byLifetime = new Map<number, SessionLease>();
  private readonly granting = new Map<number, Promise<SessionLease>>();
  private stream: { send(id: number): void; end(): void } | undefined;
  private waiting: (() => void)[] = [];

  /** @param onLost a lease is not there any more, nor what lived on it */
  constructor(
    private readonly connection: EtcdConnection,
    private readonly timers: TimerQueue,
    private readonly now: () => MonotonicMs,
    private readonly patience: number,
    private readonly onLost: () => void,
  ) {}

  /** One for what lasts so many ms; undefined if it is not known whether it lasts for that long. */
  at(ms: number): number | undefined {
    const lease = this.byLifetime.get(lifetimeFor(ms));
    if (lease === undefined || lease.lastsUntil < this.now() + ms + RESERVE) return undefined;
    return lease.id;
  }

  /** The same, made to last if it has to be. */
  async for(ms: number): Promise<number> {
    const known = this.at(ms);
    if (known !== undefined) return known;
    const { trouble } = this.connection;
    if (trouble !== undefined) throw trouble;
    const lifetime = lifetimeFor(ms);
    const lease = this.byLifetime.get(lifetime) ?? (await this.grant(lifetime));
    if (lease.lastsUntil < this.now() + ms + RESERVE) await this.confirmed(lease, this.now() + this.patience);
    const id = this.at(ms);
    if (id !== undefined) return id;
    const message = 'etcd did not confirm the lease on which locks live';
    throw new LockStoreError(message, { inDoubt: false, retryable: true, unreachable: true });
  }

  /** One that lasts so many s and is not kept alive. */
  async grantPassing(seconds: number): Promise<number> {
    const id = newLeaseId();
    await this.connection.call(methods.leaseGrant, { id, ttl: seconds });
    return id;
  }

  /** Keeps all alive on a new connection. */
  connected(endpoint: Endpoint): void {
    const stream = endpoint.stream(methods.leaseKeepAlive, (reply) => {
      this.answered(reply.id, reply.ttl);
    });
    this.stream = stream;
    for (const lease of this.byLifetime.values()) {
      lease.asked.length = 0;
      this.keepAlive(lease);
    }
  }

  disconnected(): void {
    this.stream = undefined;
  }

  /** Finds out which are still there. */
  verify(): void {
    for (const lease of this.byLifetime.values()) this.keepAlive(lease);
  }

  /** Ends all of them, and with them what lives on them. */
  async revoke(): Promise<void> {
    const all = [...this.byLifetime.values()];
    this.byLifetime.clear();
    await Promise.allSettled(all.map(({ id }) => this.connection.call(methods.leaseRevoke, id)));
  }

  private grant(lifetime: number): Promise<SessionLease> {
    const known = this.granting.get(lifetime);
    if (known !== undefined) return known;
    const granted = this.grantNow(lifetime).finally(() => this.granting.delete(lifetime));
    this.granting.set(lifetime, granted);
    return granted;
  }

  private async grantNow(lifetime: number): Promise<SessionLease> {
    const id = newLeaseId();
    const sentAt = this.now();
    await this.connection.call(methods.leaseGrant, { id, ttl: lifetime / 1_000 });
    const lease: SessionLease = { id, lifetime, lastsUntil: later(sentAt, lifetime), asked: [] };
    this.byLifetime.set(lifetime, lease);
    this.keepAliveLater(lease);
    return lease;
  }

  private keepAliveLater(lease: SessionLease): void {
    this.timers.after(lease.lifetime / 3, () => {
      if (this.byLifetime.get(lease.lifetime) !== lease) return;
      this.keepAlive(lease);
      this.keepAliveLater(lease);
    });
  }

  private keepAlive(lease: SessionLease): void {
    const { stream } = this;
    if (stream === undefined) return;
    const sentAt = this.now();
    lease.asked.push(sentAt);
    stream.send(lease.id);
  }

  private answered(id: number, ttl: number): void {
    const lease = [...this.byLifetime.values()].find((one) => one.id === id);
    const sentAt = lease?.asked.shift();
    if (lease === undefined || sentAt === undefined) return;
    if (ttl > 0) lease.lastsUntil = later(sentAt, ttl * 1_000);
    else this.byLifetime.delete(lease.lifetime);
    for (const done of this.waiting.splice(0)) done();
    if (ttl <= 0) this.onLost();
  }

  /** Until etcd has answered, or that time has come. */
  private async confirmed(lease: SessionLease, until: number): Promise<void> {
    const before = lease.lastsUntil;
    this.keepAlive(lease);
    while (lease.lastsUntil === before && this.now() < until && this.byLifetime.has(lease.lifetime)) {
      await this.timers.within(
        until - this.now(),
        new Promise<void>((resolve) => {
          this.waiting.push(resolve);
        }),
      );
    }
  }
}

/** Long enough that it lasts for `ms` after a third of it has passed. */
function lifetimeFor(ms: number): number {
  let lifetime = SHORTEST * 1_000;
  while (lifetime * 0.6 < ms + RESERVE) lifetime *= 2;
  return lifetime;
}

/** Within what a number holds exactly, and nobody else's. */
function newLeaseId(): number {
  return 1 + Math.floor(Math.random() * (Number.MAX_SAFE_INTEGER - 1));
}
