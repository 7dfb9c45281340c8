import type { LockInfo } from '../lock-info.js';
import { deadlineOf } from './clock.js';
import type { Lease } from './lease.js';
import type { LockEngine } from './lock-engine.js';
import { storeFailure } from './store-failure.js';

/** What is asked of the store once and at once, besides locks: a failure is the caller's to know. */
export class Questions {
  constructor(private readonly engine: LockEngine) {}

  async inspect(key: string): Promise<LockInfo | null> {
    const { engine } = this;
    const stored = await this.ask(key, () => engine.session.inspect(key));
    if (stored === null) return null;
    const queue = engine.queueOf(key);
    // The store knows of the grant, this process of the hold that lives on it by now (P20).
    const own = queue?.lease?.owner === stored.owner && !queue.lease.isResting ? queue.lease : undefined;
    const { token, since: acquiredAt } = own ?? stored;
    const { owner, leaseLeft: remaining = Infinity } = stored;
    const waiting = stored.waiting + (queue?.size ?? 0);
    return { key, owner, token, acquiredAt, remaining, expiresAt: engine.clock.wall() + remaining, waiting };
  }

  async forceRelease(key: string): Promise<boolean> {
    return await this.ask(key, () => this.engine.session.forceRelease(key));
  }

  /** Makes a lease last at least `ms` from now; nothing to ask for when it does so anyway. */
  async extend(lease: Lease, ms: number): Promise<void> {
    const { leases, session, watchdogTimeout } = this.engine;
    const sentAt = leases.sendingAt();
    const sureFor = leases.sureFor(lease, sentAt);
    if (sureFor > 0 && sureFor >= deadlineOf(sentAt, ms) - sentAt) return;
    lease.isExtended ||= ms > watchdogTimeout;
    const { key, owner } = lease;
    const reply = await this.ask(key, async () => {
      const [answer] = await session.renew([{ key, owner, lease: ms }]);
      if (answer instanceof Error) throw answer;
      return answer;
    });
    leases.renewed(lease, reply, sentAt, ms);
  }

  private async ask<T>(key: string, question: () => Promise<T>): Promise<T> {
    const { engine } = this;
    if (engine.isClosing && engine.leases.size === 0) throw engine.reports.closed(key);
    if (!engine.isClosing) await engine.start();
    try {
      return await question();
    } catch (error) {
      throw engine.reports.unavailable(key, storeFailure(error));
    }
  }
}
