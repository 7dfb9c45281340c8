/** Whether callers with these limits may use one key: exclusive callers (1) are compatible with readers (Infinity). */
export function agree(one: number, other: number): boolean {
  const isOfReaders = (limit: number): boolean => limit === 1 || limit === Infinity;
  return one === other || (isOfReaders(one) && isOfReaders(other));
}

/** Checks at each entry to a critical section that all callers inside may share it. */
export class SharingWitness {
  /** The violations, one line each. */
  readonly findings: string[] = [];
  /** The largest number inside at the same time. */
  most = 0;
  private readonly inside: number[] = [];

  /** The number inside. */
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
