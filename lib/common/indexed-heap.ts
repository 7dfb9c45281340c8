/** An item that knows its index in the heap, so that it can be removed without a search. */
export interface HeapItem {
  /** Initially -1. */
  heapIndex: number;
}

/** Binary min-heap with removal of any item in O(log n). An item is in one heap at a time. */
export class IndexedHeap<T extends HeapItem> {
  private readonly items: T[] = [];

  constructor(private readonly rank: (item: T) => number) {}

  get size(): number {
    return this.items.length;
  }

  peek(): T | undefined {
    return this.items[0];
  }

  push(item: T): void {
    this.items.push(item);
    this.rise(item, this.items.length - 1);
  }

  has(item: T): boolean {
    return this.items[item.heapIndex] === item;
  }

  remove(item: T): void {
    const index = item.heapIndex;
    if (this.items[index] !== item) return;
    item.heapIndex = -1;
    const last = this.items.pop();
    if (last === undefined || last === item) return;
    this.sink(last, index);
    this.rise(last, last.heapIndex);
  }

  private rise(item: T, from: number): void {
    let index = from;
    const rank = this.rank(item);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = this.items[parentIndex];
      if (parent === undefined || this.rank(parent) <= rank) break;
      this.place(parent, index);
      index = parentIndex;
    }
    this.place(item, index);
  }

  private sink(item: T, from: number): void {
    let index = from;
    const rank = this.rank(item);
    for (;;) {
      const left = this.items[2 * index + 1];
      const right = this.items[2 * index + 2];
      const child =
        right !== undefined && left !== undefined && this.rank(right) < this.rank(left) ? right : left;
      if (child === undefined || this.rank(child) >= rank) break;
      const childIndex = child.heapIndex;
      this.place(child, index);
      index = childIndex;
    }
    this.place(item, index);
  }

  private place(item: T, index: number): void {
    this.items[index] = item;
    item.heapIndex = index;
  }
}
