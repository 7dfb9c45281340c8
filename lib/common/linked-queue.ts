/** Somebody in a line, who knows the neighbours. */
export interface Linked<T> {
  ahead: T | undefined;
  behind: T | undefined;
}

/** First in, first out, and anybody may leave at any time. An item stands in one line at a time. */
export class LinkedQueue<T extends Linked<T>> implements Iterable<T> {
  private front: T | undefined;
  private back: T | undefined;
  private count = 0;

  get first(): T | undefined {
    return this.front;
  }

  get size(): number {
    return this.count;
  }

  join(item: T): void {
    item.ahead = this.back;
    if (this.back === undefined) this.front = item;
    else this.back.behind = item;
    this.back = item;
    this.count += 1;
  }

  /** Nothing happens if the item does not stand in this line (any more). */
  leave(item: T): void {
    if (item.ahead === undefined && this.front !== item) return;
    if (item.ahead === undefined) this.front = item.behind;
    else item.ahead.behind = item.behind;
    if (item.behind === undefined) this.back = item.ahead;
    else item.behind.ahead = item.ahead;
    item.ahead = item.behind = undefined;
    this.count -= 1;
  }

  /** Empties the line, or takes those out that fit; answers who has left. */
  leaveAll(fits: (item: T) => boolean = () => true): readonly T[] {
    const leaving = [...this].filter(fits);
    for (const item of leaving) this.leave(item);
    return leaving;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let item = this.front; item !== undefined; item = item.behind) yield item;
  }
}
