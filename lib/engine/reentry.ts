import type { LockLostError } from '../lock.errors.js';
import type { Hold } from './hold.js';
import type { Wait } from './wait.js';

/**
 * Lets the branches that re-enter one hold in, one at a time and in order (B52). Every hold has its own, so a branch
 * that is inside may go deeper.
 */
export class Reentry {
  private inside: Hold | undefined;
  private waits: Set<Wait<Hold | undefined>> | undefined;

  constructor(private readonly outer: Hold) {}

  /** The inner hold if nobody is inside. */
  enter(): Hold | undefined {
    if (this.inside !== undefined) return undefined;
    this.inside = this.outer.inner();
    return this.inside;
  }

  /** Queues a branch. Its wait ends with the inner hold, or with undefined when the outer hold is over. */
  queue(wait: Wait<Hold | undefined>): void {
    (this.waits ??= new Set()).add(wait);
    wait.begin();
  }

  giveUp(wait: Wait<Hold | undefined>): void {
    this.waits?.delete(wait);
  }

  leave(inner: Hold): void {
    if (this.inside !== inner) return;
    this.inside = undefined;
    for (const wait of this.waits ?? []) {
      this.waits?.delete(wait);
      this.inside = this.outer.inner();
      wait.succeed(this.inside);
      return;
    }
  }

  /** The lease was lost: so has whoever is inside. Whoever waits must take the lock anew. */
  lose(error: LockLostError): void {
    this.inside?.loseTo(error);
    this.takeAnew();
  }

  /** The outer hold is over: whoever is inside has lost it, whoever waits must take the lock anew. */
  close(): void {
    this.inside?.outlivedOuter();
    this.inside = undefined;
    this.takeAnew();
  }

  private takeAnew(): void {
    for (const wait of this.waits ?? []) wait.succeed(undefined);
    this.waits = undefined;
  }
}
