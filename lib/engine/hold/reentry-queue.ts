import type { LockLostError } from '../../model/lock.errors.js';
import type { Wait } from '../time/wait.js';

/** A hold that can be taken once more inside of its scope. */
export interface ReentrantHold<Inner> {
  readonly limit: number;
  /** One more hold inside of this one. */
  inner(limit: number): Inner;
  /** The lease was lost. */
  loseTo(error: LockLostError): void;
  /** The hold around this one ended while this one's work still ran. */
  outlivedOuter(): void;
}

/**
 * Lets the branches that re-enter one hold in: one at a time and in order (B52), but for readers, who share. Every hold
 * has its own, so a branch that is inside may go deeper.
 */
export class ReentryQueue<Inner extends ReentrantHold<Inner>> {
  private readonly inside: Inner[] = [];
  /** Who waits, and with which limit. */
  private waits: Map<Wait<Inner | undefined>, number> | undefined;

  constructor(private readonly outer: ReentrantHold<Inner>) {}

  /** The inner hold if there is room for one. */
  enter(limit: number): Inner | undefined {
    if (!this.hasRoom(limit) || (this.waits !== undefined && this.waits.size > 0)) return undefined;
    return this.letIn(limit);
  }

  /** Queues a branch. Its wait ends with the inner hold, or with undefined when the outer hold is over. */
  queue(wait: Wait<Inner | undefined>, limit: number): void {
    (this.waits ??= new Map()).set(wait, limit);
    wait.begin();
  }

  giveUp(wait: Wait<Inner | undefined>): void {
    this.waits?.delete(wait);
    this.letNextIn();
  }

  leave(inner: Inner): void {
    const place = this.inside.indexOf(inner);
    if (place === -1) return;
    this.inside.splice(place, 1);
    this.letNextIn();
  }

  /** The lease was lost: so has whoever is inside. Whoever waits must take the lock anew. */
  lose(error: LockLostError): void {
    for (const inner of [...this.inside]) inner.loseTo(error);
    this.takeAnew();
  }

  /** The outer hold is over: whoever is inside has lost it, whoever waits must take the lock anew. */
  close(): void {
    for (const inner of this.inside.splice(0)) inner.outlivedOuter();
    this.takeAnew();
  }

  private hasRoom(limit: number): boolean {
    return this.inside.length === 0 || (limit === Infinity && this.inside[0]?.limit === Infinity);
  }

  private letIn(limit: number): Inner {
    const inner = this.outer.inner(limit);
    this.inside.push(inner);
    return inner;
  }

  private letNextIn(): void {
    for (const [wait, limit] of this.waits ?? []) {
      if (!this.hasRoom(limit)) return;
      this.waits?.delete(wait);
      wait.succeed(this.letIn(limit));
    }
  }

  private takeAnew(): void {
    const waits = this.waits;
    this.waits = undefined;
    for (const wait of waits?.keys() ?? []) wait.succeed(undefined);
  }
}
