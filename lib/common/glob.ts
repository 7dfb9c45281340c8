/**
 * Matches texts against a pattern in which `*` stands for any characters and `?` for one; every other character stands
 * for itself. Patterns may come from visitors who may only view locks, so none may take long: a failed match is retried
 * only from the last `*`, which takes at most as many steps as the lengths of pattern and text multiplied.
 */
export class Glob {
  private readonly pattern: readonly string[];

  constructor(private readonly glob: string) {
    this.pattern = Array.from(glob);
  }

  /** The beginning of every match. */
  get head(): string {
    return this.glob.split(/[*?]/, 1).join();
  }

  matches(text: string): boolean {
    const { pattern } = this;
    const characters = Array.from(text);
    let at = 0;
    let position = 0;
    /** The last `*` so far, and the end of the characters that it matches. */
    let star: { readonly at: number; readonly end: number } | undefined;
    while (position < characters.length) {
      const wanted = pattern[at];
      if (wanted === '*') {
        star = { at, end: position };
        at += 1;
      } else if (wanted === '?' || (wanted !== undefined && wanted === characters[position])) {
        at += 1;
        position += 1;
      } else if (star !== undefined) {
        star = { at: star.at, end: star.end + 1 };
        at = star.at + 1;
        position = star.end;
      } else {
        return false;
      }
    }
    return pattern.slice(at).every((left) => left === '*');
  }
}
