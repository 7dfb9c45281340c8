import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IndexedHeap, MostlyOrderedQueue, type HeapItem } from '../../../lib/common/timer-queue.js';

interface Item extends HeapItem {
  readonly rank: number;
}

const rankOf = (item: Item): number => item.rank;
const newItem = (rank: number): Item => ({ rank, heapIndex: -1 });

type Action = readonly [kind: 'push' | 'push-later' | 'take-first' | 'remove', number: number];

const action: fc.Arbitrary<Action> = fc.oneof(
  fc.tuple(fc.constant('push' as const), fc.integer({ min: 0, max: 20 })),
  fc.tuple(fc.constant('push-later' as const), fc.nat({ max: 2 })),
  fc.tuple(fc.constant('take-first' as const), fc.constant(0)),
  fc.tuple(fc.constant('remove' as const), fc.nat({ max: 200 })),
);

for (const Queue of [IndexedHeap, MostlyOrderedQueue]) {
  describe(Queue.name, () => {
    it('always has the item of the lowest rank first, after any pushes and removals', () => {
      fc.assert(
        fc.property(fc.array(action, { maxLength: 200, size: 'max' }), (actions) => {
          const queue = new Queue<Item>(rankOf);
          const model: Item[] = [];
          let latest = 0;
          const push = (rank: number): void => {
            latest = Math.max(latest, rank);
            const item = newItem(rank);
            queue.push(item);
            model.push(item);
          };
          const remove = (item: Item | undefined): void => {
            if (item === undefined) return;
            queue.remove(item);
            if (item.heapIndex !== -1) throw new Error('it is still in the queue');
            queue.remove(item); // a second removal changes nothing
            model.splice(model.indexOf(item), 1);
          };
          for (const [kind, number] of actions) {
            if (kind === 'push') push(number);
            else if (kind === 'push-later') push(latest + number);
            else if (kind === 'take-first') remove(queue.peek());
            else remove(model[number % Math.max(1, model.length)]);
            const lowest = model.length === 0 ? undefined : Math.min(...model.map(rankOf));
            const agrees =
              queue.size === model.length &&
              model.every(({ heapIndex }) => heapIndex !== -1) &&
              queue.peek()?.rank === lowest;
            if (!agrees) throw new Error(`after ${kind}: wrong order`);
          }
        }),
        { numRuns: 1_000 },
      );
    });

    it('accepts an item again after its removal', () => {
      const queue = new Queue<Item>(rankOf);
      const items = [1, 2, 3].map(newItem);
      for (const item of items) queue.push(item);
      for (const item of items) {
        queue.remove(item);
        queue.push(item);
      }
      expect(queue.size).toBe(3);
      expect(queue.peek()).toBe(items[0]);
    });
  });
}

describe('MostlyOrderedQueue', () => {
  /** Pushes and removes items, `waiting` of them at a time, behind one that stays. */
  function busyLine(waiting: number): { readonly queue: MostlyOrderedQueue<Item>; readonly last: Item } {
    const queue = new MostlyOrderedQueue<Item>(rankOf);
    queue.push(newItem(0));
    const items: Item[] = [];
    let last = newItem(0);
    for (let rank = 1; rank < 5_000; rank++) {
      last = newItem(rank);
      queue.push(last);
      items.push(last);
      if (items.length > waiting) queue.remove(items.shift() ?? last);
    }
    return { queue, last };
  }

  it('does not grow with removed items', () => {
    const { queue, last } = busyLine(20);
    expect(queue.size).toBe(21);
    // The index in the array.
    expect(Math.abs(last.heapIndex)).toBeLessThan(200);
  });

  it('starts again at the beginning when it is empty', () => {
    const queue = new MostlyOrderedQueue<Item>(rankOf);
    const [late, early] = [newItem(100), newItem(1)];
    queue.push(late);
    queue.remove(late);
    queue.push(early);
    expect(early.heapIndex).toBeLessThan(-1);
  });
});
