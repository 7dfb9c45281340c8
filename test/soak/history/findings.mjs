/** The violations that the checks found: all are counted, and the first few of each kind keep their description. */
export class Findings {
  static KEPT = 20;
  counts = {};
  /** @type {{ kind: string, at: number, story: string }[]} */
  list = [];

  /**
   * @param {string} kind
   * @param {number} at monotonic ms
   * @param {string} story
   */
  add(kind, at, story) {
    const count = (this.counts[kind] = (this.counts[kind] ?? 0) + 1);
    if (count <= Findings.KEPT) this.list.push({ kind, at, story });
  }
}
