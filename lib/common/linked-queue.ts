/** An item of a queue, which knows its neighbours. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** First in, first out, and anybody may leave at any time. An item is in one queue at a time. */
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
    item.previous = this.back;
    if (this.back === undefined) this.front = item;
    else this.back.next = item;
    this.back = item;
    this.count += 1;
  }

  has(item: T): boolean {
    return item.previous !== undefined || this.front === item;
  }

  /** Nothing happens if the item is not in this queue (any more). */
  leave(item: T): void {
    if (!this.has(item)) return;
    if (item.previous === undefined) this.front = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.back = item.previous;
    else item.next.previous = item.previous;
    item.previous = item.next = undefined;
    this.count -= 1;
  }

  /** Empties the queue, or takes those out that fit; answers who has left. */
  leaveAll(fits: (item: T) => boolean = () => true): readonly T[] {
    const leaving = [...this].filter(fits);
    for (const item of leaving) this.leave(item);
    return leaving;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let item = this.front; item !== undefined; item = item.next) yield item;
  }
}
