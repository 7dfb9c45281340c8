/** An item of a queue, which knows its neighbours. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * First in, first out; any item may leave at any time, but not while the queue is iterated. An item is in one queue at a
 * time.
 */
export class LinkedQueue<T extends Linked<T>> implements Iterable<T> {
  first: T | undefined;
  last: T | undefined;
  size = 0;

  join(item: T): void {
    item.previous = this.last;
    if (this.last === undefined) this.first = item;
    else this.last.next = item;
    this.last = item;
    this.size += 1;
  }

  has(item: T): boolean {
    return item.previous !== undefined || this.first === item;
  }

  /** Does nothing if the item is not in this queue. */
  leave(item: T): void {
    if (!this.has(item)) return;
    if (item.previous === undefined) this.first = item.next;
    else item.previous.next = item.next;
    if (item.next === undefined) this.last = item.previous;
    else item.next.previous = item.previous;
    item.previous = item.next = undefined;
    this.size -= 1;
  }

  /** Empties the queue, or removes the matching items; returns the removed items. */
  leaveAll(fits: (item: T) => boolean = () => true): readonly T[] {
    const leaving = [...this].filter(fits);
    for (const item of leaving) this.leave(item);
    return leaving;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let item = this.first; item !== undefined; item = item.next) yield item;
  }
}
