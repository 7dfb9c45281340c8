/** Counts who is inside a critical section; knows nothing of locks. */
export class ExclusionWitness {
  /** The most that were inside at the same time. */
  most = 0;
  private inside = 0;

  /** How many are inside. */
  get now(): number {
    return this.inside;
  }

  enter(): void {
    this.inside += 1;
    this.most = Math.max(this.most, this.inside);
  }

  leave(): void {
    this.inside -= 1;
  }
}

/** A resource that takes a write only from the newest holder it has heard of. */
export class FencedRegister {
  value: unknown;
  private newest = 0;

  write(token: number, value: unknown): 'written' | 'refused' {
    if (token < this.newest) return 'refused';
    this.newest = token;
    this.value = value;
    return 'written';
  }
}
