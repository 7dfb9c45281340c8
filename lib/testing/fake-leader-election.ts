import { filter, firstValueFrom } from 'rxjs';
import { Deferred } from '../common/deferred.js';
import { LeaderElection, type LeaderLocks, type Leadership } from '../leader/leader-election.js';
import type { LockHandle } from '../model/lock-handle.js';
import type { LockOptions } from '../model/lock.options.js';
import { FakeLockService } from './fake-lock-service.js';
import { NO_LOG } from './test-lock-store.js';

/** Grants the lock when a test elects the leader. */
class Admission implements LeaderLocks {
  readonly service = new FakeLockService();
  private gate = new Deferred<void>();

  /** Grants the lock to the candidate, or to the next one. */
  admit(): void {
    this.gate.resolve();
  }

  async acquire(key: string, { signal }: LockOptions): Promise<LockHandle> {
    const { gate } = this;
    signal?.addEventListener('abort', () => gate.reject(signal.reason), { once: true });
    await gate;
    this.gate = new Deferred();
    return await this.service.acquire(key);
  }
}

/**
 * A `LeaderElection` whose outcome a test decides, for `overrideProvider(getLeaderElectionToken(name)).useValue(…)` or the
 * constructor of the class under test. Methods under `@OnElected` and `@OnRevoked` are called as in the application.
 */
export class FakeLeaderElection extends LeaderElection {
  private readonly admission: Admission;

  constructor(name: string) {
    const admission = new Admission();
    super(name, `leader:${name}`, admission, NO_LOG);
    this.admission = admission;
  }

  /** Makes this process the leader. */
  async elect(): Promise<Leadership> {
    const elected = firstValueFrom(this.leadership$.pipe(filter(({ type }) => type === 'elected')));
    this.start();
    if (!this.isLeader) this.admission.admit();
    await elected;
    const { leadership } = this;
    if (leadership === undefined) throw new Error(`The leadership of "${this.name}" was revoked at once.`);
    return leadership;
  }

  /**
   * Revokes the leadership with the reason `taken`, as when an operator breaks the lock.
   *
   * @throws Error when this process is not the leader
   */
  async revoke(): Promise<void> {
    const revoked = firstValueFrom(this.leadership$.pipe(filter(({ type }) => type === 'revoked')));
    await this.admission.service.lose(this.key);
    await revoked;
  }
}
