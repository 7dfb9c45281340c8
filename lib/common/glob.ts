/**
 * Matches texts against a pattern in which `*` stands for any characters and `?` for one; every other character stands for
 * itself. Patterns come from people who may only look, so no pattern may take long: a failed match is retried from the
 * last `*` alone, which takes at most as many steps as pattern and text have characters, multiplied.
 */
export class Glob {
  private readonly pattern: readonly string[];

  constructor(private readonly glob: string) {
    this.pattern = Array.from(glob);
  }

  /** What every match starts with. */
  get head(): string {
    return this.glob.split(/[*?]/, 1).join();
  }

  matches(text: string): boolean {
    const { pattern } = this;
    const characters = Array.from(text);
    let at = 0;
    let position = 0;
    /** The last `*` so far, and where the characters end that it stands for. */
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
