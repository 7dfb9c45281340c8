/** Has what is done for one name, such as a key or an owner, come one after the other, in the order of the calls. */
export class Turns<Name> {
  /** What was begun last for each name, as long as it is under way. */
  protected readonly last = new Map<Name, Promise<unknown>>();

  /** Begins at once if nothing else is under way for the name. */
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

  /** Whether anything is under way for the name. */
  isBusy(name: Name): boolean {
    return this.last.has(name);
  }
}
