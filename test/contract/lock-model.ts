/** Who wants a lock, or a share of it, as the model sees it. */
export interface ModelCaller {
  readonly limit: number;
}

export type ModelReply = 'granted' | 'queued' | 'busy' | 'cancelled' | { readonly conflict: number };

/**
 * The rules of one key in as few words as possible, to be compared with what stores do: who holds it, in the order of
 * their grants, who waits, in order, and who is shut out. Nobody's time runs here; leases end when the test says so.
 */
export class LockModel<Caller extends ModelCaller> {
  readonly holders: Caller[] = [];
  readonly waiters: Caller[] = [];
  private readonly shutOut = new Set<Caller>();

  /** @param pushed hears of every grant that is not the answer to a request */
  constructor(private readonly pushed: (caller: Caller) => void) {}

  /** The limit of those who hold the key, or else wait for it. */
  get limit(): number | undefined {
    return this.holders[0]?.limit ?? this.waiters[0]?.limit;
  }

  acquire(caller: Caller, wait: boolean): ModelReply {
    if (this.shutOut.has(caller)) return 'cancelled';
    if (this.holders.includes(caller)) return 'granted';
    const { limit } = this.holders[0] ?? this.waiters.at(-1) ?? caller;
    if (!agree(limit, caller.limit)) {
      remove(this.waiters, caller);
      this.serve();
      return { conflict: limit };
    }
    const wasWaiting = this.waiters.includes(caller);
    if (!wasWaiting) this.waiters.push(caller);
    this.serve(caller);
    if (this.holders.includes(caller)) return 'granted';
    if (!wait && !wasWaiting) remove(this.waiters, caller);
    return wait ? 'queued' : 'busy';
  }

  /** True if it held the key. */
  release(caller: Caller): boolean {
    const held = remove(this.holders, caller);
    this.serve();
    return held;
  }

  cancel(caller: Caller): void {
    remove(this.waiters, caller);
    this.release(caller);
  }

  /** No request of this caller counts from now on. */
  shut(caller: Caller): void {
    this.shutOut.add(caller);
  }

  /** A lease is over, which nobody knows of until somebody asks. */
  expire(caller: Caller): void {
    remove(this.holders, caller);
  }

  /** Those who held the key. */
  break(): Caller[] {
    const broken = this.holders.splice(0);
    this.serve();
    return broken;
  }

  /** Grants in order for as long as the first in line fits. */
  private serve(asking?: Caller): void {
    for (let first = this.waiters[0]; first !== undefined && this.fits(first); first = this.waiters[0]) {
      this.waiters.shift();
      this.holders.push(first);
      if (first !== asking) this.pushed(first);
    }
  }

  private fits({ limit }: Caller): boolean {
    return this.holders.length === 0 || (this.holders[0]?.limit !== 1 && this.holders.length < limit);
  }
}

/** A writer (1) and readers (Infinity) may use the same key; else all have the same number. */
function agree(one: number, other: number): boolean {
  const isOneOrAll = (limit: number): boolean => limit === 1 || limit === Infinity;
  return one === other || (isOneOrAll(one) && isOneOrAll(other));
}

function remove<T>(list: T[], item: T): boolean {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
  return index >= 0;
}
