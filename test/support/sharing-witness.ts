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
  private readonly inside: { readonly limit: number; readonly permits: number }[] = [];

  /** The number inside. */
  get now(): number {
    return this.inside.length;
  }

  enter(limit: number, permits = 1): void {
    this.inside.push({ limit, permits });
    this.most = Math.max(this.most, this.inside.length);
    const limits = new Set(this.inside.map((each) => each.limit));
    const held = this.inside.reduce((sum, each) => sum + each.permits, 0);
    if (limits.size > 1 || held > limit) {
      const all = this.inside.map((each) => `${each.permits} of ${each.limit}`);
      this.findings.push(`inside at the same time: ${all.join(', ')}`);
    }
  }

  leave(limit: number, permits = 1): void {
    const index = this.inside.findIndex((each) => each.limit === limit && each.permits === permits);
    this.inside.splice(index, 1);
  }
}
