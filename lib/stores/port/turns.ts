/** Runs work for the same name, such as a key or an owner, one after the other, in the order of the calls. */
export class Turns<Name> {
  /** The latest work for each name, while it is pending. */
  protected readonly last = new Map<Name, Promise<unknown>>();

  /** Starts at once if no other work for the name is pending. */
  async run<T>(name: Name, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    const turn = before === undefined ? work() : before.then(work, work);
    this.last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.last.get(name) === turn) this.last.delete(name);
    }
  }

  /** Whether any work for the name is pending. */
  isBusy(name: Name): boolean {
    return this.last.has(name);
  }
}

/** Lets a limited number of pieces of work run at once; the others wait, in order. */
export class Gate {
  private running = 0;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly most: number) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running === this.most) await new Promise<void>((enter) => this.waiting.add(enter));
    else this.running += 1;
    try {
      return await work();
    } finally {
      const [next] = this.waiting;
      if (next === undefined) this.running -= 1;
      else {
        this.waiting.delete(next);
        next();
      }
    }
  }
}

/** Pending requests by key, of a store that serves requests concurrently: others may have to wait for them. */
export class PendingWork {
  private readonly byKey = new Map<string, Set<Promise<unknown>>>();

  /** Returns the result of the work, which is pending until then. */
  async track<T>(key: string, work: Promise<T>): Promise<T> {
    const { byKey } = this;
    let pending = byKey.get(key);
    if (pending === undefined) byKey.set(key, (pending = new Set()));
    pending.add(work);
    try {
      return await work;
    } finally {
      pending.delete(work);
      if (pending.size === 0 && byKey.get(key) === pending) byKey.delete(key);
    }
  }

  /** Resolves when all work pending for a key now has settled; undefined if there is none. */
  of(key: string): Promise<unknown> | undefined {
    const pending = this.byKey.get(key);
    return pending && Promise.allSettled(pending);
  }
}
