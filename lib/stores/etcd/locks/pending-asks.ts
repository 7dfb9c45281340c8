import type { AskReply, AskRequest } from '../../port/lock-store.js';
import { ownName } from './lock-context.js';

/** A place in line for all of a lock that is asked for. */
interface PendingPlace {
  readonly owner: string;
  readonly reply: Promise<AskReply>;
  /** To be called when it goes out. */
  readonly waiting: (() => void)[];
}

/** What is asked for owners of this session and not answered yet. */
export class PendingAsks {
  /** How many there are of each owner, by {@link ownName}. */
  private readonly counts = new Map<string, number>();
  /** The last of each key: they are answered in the order in which they ask. */
  private readonly places = new Map<string, PendingPlace>();

  has(key: string, owner: string): boolean {
    return this.counts.has(ownName(key, owner));
  }

  /**
   * Resolves when nothing that is asked from then on can come before the place in line for all of that lock that this
   * session asks for: it is answered, or goes out in this tick. Undefined if it asks for none.
   */
  placeBefore(key: string): Promise<unknown> | undefined {
    const place = this.places.get(key);
    if (place === undefined) return undefined;
    const goesOut = new Promise<void>((resolve) => place.waiting.push(resolve));
    return Promise.race([place.reply, goesOut]);
  }

  /** Whoever waits for that goes out with it, as what is asked in one tick is one transaction. */
  goesOut({ key, owner }: AskRequest): void {
    const place = this.places.get(key);
    if (place?.owner === owner) for (const goOn of place.waiting.splice(0)) goOn();
  }

  /** @param isNew whether the owner has no place yet */
  async track(request: AskRequest, isNew: boolean, work: () => Promise<AskReply>): Promise<AskReply> {
    const { counts, places } = this;
    const { key, owner, wait, limit } = request;
    const name = ownName(key, owner);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const reply = work();
    if (isNew && wait && limit === 1) places.set(key, { owner, reply, waiting: [] });
    try {
      return await reply;
    } finally {
      const others = (counts.get(name) ?? 1) - 1;
      if (others > 0) counts.set(name, others);
      else counts.delete(name);
      if (places.get(key)?.reply === reply) places.delete(key);
    }
  }
}
