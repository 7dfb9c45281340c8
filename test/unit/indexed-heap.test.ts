import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { IndexedHeap, type HeapItem } from '../../lib/collections/indexed-heap.js';

interface Item extends HeapItem {
  readonly rank: number;
}

const action = fc.oneof(
  fc.record({ kind: fc.constant('push' as const), rank: fc.integer({ min: 0, max: 20 }) }),
  fc.record({ kind: fc.constant('pop' as const), rank: fc.constant(0) }),
  fc.record({ kind: fc.constant('remove' as const), rank: fc.nat({ max: 50 }) }),
);

describe('IndexedHeap', () => {
  it('always has the item of the lowest rank first, whatever is put in and taken out', () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
        const heap = new IndexedHeap<Item>((item) => item.rank);
        const model: Item[] = [];
        for (const { kind, rank } of actions) {
          if (kind === 'push') {
            const item = { rank, heapIndex: -1 };
            heap.push(item);
            model.push(item);
          } else if (kind === 'pop') {
            const item = heap.pop();
            expect(item?.rank).toBe(
              model.length === 0 ? undefined : Math.min(...model.map((one) => one.rank)),
            );
            if (item !== undefined) model.splice(model.indexOf(item), 1);
          } else {
            const item = model[rank % Math.max(1, model.length)];
            if (item === undefined) continue;
            heap.remove(item);
            expect(heap.has(item)).toBe(false);
            heap.remove(item); // once more changes nothing
            model.splice(model.indexOf(item), 1);
          }
          expect(heap.size).toBe(model.length);
          expect(model.every((item) => heap.has(item))).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
