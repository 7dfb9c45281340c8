import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyNames, keySlot } from '../../../../lib/stores/redis/scripts/key-names.js';

/** Keys of the characters that matter to names: braces, and the library's own markers. */
const key = fc
  .array(
    fc.constantFrom('{', '}', '@:', ':', 'a', 'b', '=', '#', 'queue:', 'waiters:', '\r\n', '\0', 'ü', '😀'),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((parts) => parts.join(''));
const prefix = fc.constantFrom('lock:', '', '{app}:', 'a:{b}c', '@:');

function namesOf(prefixed: string, name: string): string[] {
  const names = new KeyNames(prefixed).of(name);
  return [names.lock, names.queue, names.waiters];
}

function sharedNames(start: string): string[] {
  const names = new KeyNames(start);
  return [names.fence(0), names.tombstones(0, 'client')];
}

describe('names in Redis', () => {
  it('B70, P2: two keys never have a name in common, with each other or with the shared names', () => {
    fc.assert(
      fc.property(prefix, key, key, (start, one, other) => {
        fc.pre(one !== other);
        const all = [...namesOf(start, one), ...namesOf(start, other), ...sharedNames(start)];
        expect(new Set(all).size).toBe(all.length);
      }),
      { numRuns: 5_000 },
    );
  });

  it('P3: in a cluster every slot has its own counter and channels, stored in that slot', () => {
    fc.assert(
      fc.property(prefix, key, (start, name) => {
        const names = new KeyNames(start, true);
        const { lock } = names.of(name);
        const slot = names.slotOf(name);
        expect(slot).toBe(keySlot(lock));
        expect(keySlot(names.fence(slot))).toBe(slot);
        expect(keySlot(names.tombstones(slot, 'client'))).toBe(slot);
        expect(keySlot(`${names.channels(slot)}client`)).toBe(slot);
        expect(keySlot(names.trial(slot, 'client'))).toBe(slot);
      }),
      { numRuns: 300 },
    );
  });

  it('the pattern of a list has one wildcard, at its end, and matches all keys with the prefix', () => {
    fc.assert(
      fc.property(prefix, key, fc.nat(8), (start, name, length) => {
        const names = new KeyNames(start);
        const pattern = names.patternOf(Array.from(name).slice(0, length).join(''));
        expect(pattern).toMatch(/^(?:\\[^]|[^\\*?[])*\*$/);
        expect(names.of(name).lock.startsWith(pattern.slice(0, -1).replace(/\\([^])/g, '$1'))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(new KeyNames('a[b]').patternOf('*?\\')).toBe('a\\[b\\]\\*\\?\\\\*');
  });

  it('P2: all names of a lock are in its hash slot, and a hash tag that Redis uses is kept', () => {
    fc.assert(
      fc.property(prefix, key, (start, name) => {
        const slots = namesOf(start, name).map(keySlot);
        expect(new Set(slots).size).toBe(1);
      }),
      { numRuns: 300 },
    );
    expect(new KeyNames('lock:').of('a{user}').queue).toBe('lock:@:queue:=a{user}');
    expect(new KeyNames('lock:').of('plain').queue).toBe('lock:@:queue:{lock:plain}');
  });
});
