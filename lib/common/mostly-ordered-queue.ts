import { IndexedHeap, type HeapItem } from './indexed-heap.js';

/** `heapIndex` of an item that stands in no queue; below it are the places in the line. */
const NOWHERE = -1;
const FIRST_PLACE = -2;
/** The line is written anew when so many of its places per item are empty, and these in addition. */
const EMPTY_PER_ITEM = 2;
const EMPTY_AT_LEAST = 64;

/**
 * Priority queue for items most of which come in the order of their ranks, such as waits that are equally long. Those
 * stand in a line, where putting in and taking out of any of them is O(1), amortized; the others are in a heap. An item
 * is in one queue at a time.
 */
export class MostlyOrderedQueue<T extends HeapItem> {
  private heap: IndexedHeap<T> | undefined;
  private line: (T | undefined)[] = [];
  /** Of the first item in the line, or the length of the line. */
  private front = 0;
  private inLine = 0;
  private lastRank = -Infinity;

  constructor(private readonly rank: (item: T) => number) {}

  get size(): number {
    return this.heap === undefined ? this.inLine : this.heap.size + this.inLine;
  }

  peek(): T | undefined {
    const inLine = this.line[this.front];
    const inHeap = this.heap?.peek();
    if (inLine === undefined) return inHeap;
    return inHeap !== undefined && this.rank(inHeap) < this.rank(inLine) ? inHeap : inLine;
  }

  has(item: T): boolean {
    if (item.heapIndex > NOWHERE) return this.heap?.has(item) === true;
    return item.heapIndex < NOWHERE && this.line[FIRST_PLACE - item.heapIndex] === item;
  }

  push(item: T): void {
    const rank = this.rank(item);
    if (rank < this.lastRank) {
      this.heap ??= new IndexedHeap<T>(this.rank);
      this.heap.push(item);
      return;
    }
    this.lastRank = rank;
    item.heapIndex = FIRST_PLACE - this.line.length;
    this.line.push(item);
    this.inLine += 1;
  }

  remove(item: T): void {
    if (item.heapIndex > NOWHERE) this.heap?.remove(item);
    else if (this.has(item)) this.leave(item);
  }

  private leave(item: T): void {
    const { line } = this;
    line[FIRST_PLACE - item.heapIndex] = undefined;
    item.heapIndex = NOWHERE;
    this.inLine -= 1;
    if (this.inLine === 0) {
      // Setting `length` is a slow call of the engine, and many queues have one item at a time.
      if (line.length === 1) line.pop();
      else this.line = [];
      this.front = 0;
      this.lastRank = -Infinity;
      return;
    }
    while (line[this.front] === undefined) this.front += 1;
    if (line.length > (1 + EMPTY_PER_ITEM) * this.inLine + EMPTY_AT_LEAST) this.closeUp();
  }

  private closeUp(): void {
    const all = this.line;
    this.line = [];
    this.front = 0;
    for (const item of all) {
      if (item === undefined) continue;
      item.heapIndex = FIRST_PLACE - this.line.length;
      this.line.push(item);
    }
  }
}
