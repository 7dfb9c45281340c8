/**
 * Calls to a store for visitors of the page, of which only so many run at once: the store answers them on the connection that
 * renews the locks of this process. Visitors who ask the same thing while it is being answered share the answer.
 */
export class SharedCalls<T> {
  private readonly running = new Map<string, Promise<T>>();

  constructor(private readonly most: number) {}

  /** Undefined if too many other calls are running. */
  call(what: readonly unknown[], start: () => Promise<T>): Promise<T> | undefined {
    const id = JSON.stringify(what);
    const same = this.running.get(id);
    if (same !== undefined) return same;
    if (this.running.size >= this.most) return undefined;
    const answer = start().finally(() => this.running.delete(id));
    this.running.set(id, answer);
    return answer;
  }
}
