import type { AcquireReply, AcquireRequest } from '../../port/lock-store.js';
import { Turns } from '../../port/turns.js';
import { ownName } from './entries.js';

/**
 * Carries out requests for the same key one after the other: requests on one connection overtake each other, and many
 * consist of several.
 */
export class KeyedSerialQueue extends Turns<string> {
  /** Starts at once, beside running work; later work waits for all of it. */
  runBeside<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(key);
    const running = work();
    const last = Promise.allSettled(before === undefined ? [running] : [before, running]).finally(() => {
      if (this.last.get(key) === last) this.last.delete(key);
    });
    this.last.set(key, last);
    return running;
  }
}

interface PendingPosition {
  readonly owner: string;
  readonly reply: Promise<AcquireReply>;
  readonly onSent: (() => void)[];
}

export class PendingAcquires {
  /** Their number for each owner, by {@link ownName}. */
  private readonly counts = new Map<string, number>();
  /** The last one for each key; requests for a key are carried out in order. */
  private readonly positions = new Map<string, PendingPosition>();

  has(key: string, owner: string): boolean {
    return this.counts.has(ownName(key, owner));
  }

  /**
   * Resolves when a later request can't overtake the session's pending request for a queue position: that one got a
   * reply, or is sent in this tick. Undefined if there is none.
   */
  positionBefore(key: string): Promise<unknown> | undefined {
    const position = this.positions.get(key);
    if (position === undefined) return undefined;
    const sent = new Promise<void>((resolve) => position.onSent.push(resolve));
    return Promise.race([position.reply, sent]);
  }

  /** The request is sent in this tick; requests of one tick are one transaction. */
  sent({ key, owner }: AcquireRequest): void {
    const position = this.positions.get(key);
    if (position?.owner === owner) for (const resume of position.onSent.splice(0)) resume();
  }

  /** @param isNew whether the owner has no queue position yet */
  async track(
    request: AcquireRequest,
    isNew: boolean,
    work: () => Promise<AcquireReply>,
  ): Promise<AcquireReply> {
    const { counts, positions } = this;
    const { key, owner, wait, limit } = request;
    const name = ownName(key, owner);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const reply = work();
    if (isNew && wait && limit === 1) positions.set(key, { owner, reply, onSent: [] });
    try {
      return await reply;
    } finally {
      const others = (counts.get(name) ?? 1) - 1;
      if (others > 0) counts.set(name, others);
      else counts.delete(name);
      if (positions.get(key)?.reply === reply) positions.delete(key);
    }
  }
}
