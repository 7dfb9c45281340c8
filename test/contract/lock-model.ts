/** A caller that wants a lock or a permit, as the model sees it. */
export interface ModelCaller {
  readonly limit: number;
  readonly permits: number;
}

export type ModelReply = 'granted' | 'queued' | 'busy' | 'cancelled' | { readonly conflict: number };

/**
 * The rules of one key in the fewest words, to compare with stores: the holders in the order of
 * their grants, the waiters in order, and the excluded owners. No clock runs here; leases end when the test ends them.
 */
export class LockModel<Caller extends ModelCaller> {
  readonly holders: Caller[] = [];
  readonly waiters: Caller[] = [];
  private readonly shutOut = new Set<Caller>();

  /** @param pushed receives every grant that is not the reply to a request */
  constructor(private readonly pushed: (caller: Caller) => void) {}

  /** The limit of the holders, or else of the waiters. */
  get limit(): number | undefined {
    return this.holders[0]?.limit ?? this.waiters[0]?.limit;
  }

  /** The permits of all holders. */
  get held(): number {
    return this.holders.reduce((sum, { permits }) => sum + permits, 0);
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

  /** Requests of this caller no longer count. */
  shut(caller: Caller): void {
    this.shutOut.add(caller);
  }

  /** A lease expired, which is not noticed before the next request. */
  expire(caller: Caller): void {
    remove(this.holders, caller);
  }

  /** The owners that held the key. */
  break(): Caller[] {
    const broken = this.holders.splice(0);
    this.serve();
    return broken;
  }

  /** Grants in order while the first waiter fits. */
  private serve(asking?: Caller): void {
    for (let first = this.waiters[0]; first !== undefined && this.fits(first); first = this.waiters[0]) {
      this.waiters.shift();
      this.holders.push(first);
      if (first !== asking) this.pushed(first);
    }
  }

  private fits({ limit, permits }: Caller): boolean {
    if (this.holders.length === 0) return true;
    return this.holders[0]?.limit !== 1 && this.held + permits <= limit;
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
