/** Counts the callers inside a critical section, independently of locks. */
export class ExclusionWitness {
  /** The largest number inside at the same time. */
  most = 0;
  private inside = 0;

  /** The number inside. */
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

/** A resource that accepts writes only from the newest holder seen so far. */
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
