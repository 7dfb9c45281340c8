import type { MonotonicMs, OwnerId, PushedGrant } from '../stores/lock-store.js';
import { Reminder, type Alarms } from './alarms.js';
import { later } from './clock.js';

/**
 * This process's place in the store's queue of one key. It belongs to the queue, not to a caller: when the caller at
 * the head gives up, the next one inherits it, so that the process keeps its turn (B13).
 */
export class QueuePlace {
  /** The lease that the store would grant for this place at the moment. */
  askedLease = 0;
  /** Whether a request of this owner may still be under way. */
  inDoubt = false;
  /** Since when a request is under way. */
  askedAt: MonotonicMs | undefined;
  /** Whether the store has answered at least once. */
  answered = false;
  /** When the holder's lease ends, as far as the store told. */
  holderFreeAt: MonotonicMs | undefined;

  private grant: PushedGrant | undefined;
  private wakeUp: (() => void) | undefined;
  private roused = false;

  constructor(
    readonly owner: OwnerId,
    private readonly alarms: Alarms,
  ) {}

  /** Whether the store may know this owner, so that it has to be told when nobody wants the place any more. */
  get mayExist(): boolean {
    return this.answered || this.inDoubt || this.askedAt !== undefined;
  }

  push(grant: PushedGrant): void {
    this.grant = grant;
    this.wake();
  }

  takeGrant(): PushedGrant | undefined {
    const grant = this.grant;
    this.grant = undefined;
    return grant;
  }

  /** Ends the pause, or the next one if there is none now. */
  wake(): void {
    if (this.wakeUp === undefined) this.roused = true;
    else this.wakeUp();
  }

  pauseFor(now: MonotonicMs, ms: number): Promise<void> {
    if (this.roused) {
      this.roused = false;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const reminder = new Reminder(() => this.wakeUp?.());
      this.wakeUp = () => {
        this.wakeUp = undefined;
        this.alarms.clear(reminder);
        resolve();
      };
      this.alarms.set(reminder, later(now, ms));
    });
  }
}
