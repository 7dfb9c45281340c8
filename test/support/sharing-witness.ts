/** Whether callers with these limits may use one key: all of it (1) goes with readers (Infinity). */
export function agree(one: number, other: number): boolean {
  const isOfReaders = (limit: number): boolean => limit === 1 || limit === Infinity;
  return one === other || (isOfReaders(one) && isOfReaders(other));
}

/** Looks, whenever somebody enters a critical section, whether all who are inside may be there together. */
export class SharingWitness {
  /** What was found wrong, one line each. */
  readonly findings: string[] = [];
  /** The most that were inside at the same time. */
  most = 0;
  private readonly inside: number[] = [];

  /** How many are inside. */
  get now(): number {
    return this.inside.length;
  }

  enter(limit: number): void {
    this.inside.push(limit);
    this.most = Math.max(this.most, this.inside.length);
    const limits = new Set(this.inside);
    if (limits.size > 1 || this.inside.length > limit) {
      this.findings.push(`inside at the same time, by their limits: ${this.inside.join(', ')}`);
    }
  }

  leave(limit: number): void {
    this.inside.splice(this.inside.indexOf(limit), 1);
  }
}
