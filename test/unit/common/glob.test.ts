import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Glob } from '../../../lib/common/glob.js';

/** A simple matcher that takes exponential time. */
function reference(glob: readonly string[], text: readonly string[]): boolean {
  const [wanted, ...rest] = glob;
  const [first, ...others] = text;
  if (wanted === undefined) return first === undefined;
  if (wanted === '*') return reference(rest, text) || (first !== undefined && reference(glob, others));
  return first !== undefined && (wanted === '?' || wanted === first) && reference(rest, others);
}

describe('patterns of keys', () => {
  it.each([
    ['*', 'any thing\n', true],
    ['*', '', true],
    ['', 'a', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a?c', 'a\u{1f512}c', true],
    ['order:*', 'order:7', true],
    ['order:*', 'my order:7', false],
    ['*:7', 'order:7:7', true],
    ['[a]', '[a]', true],
    ['[a]', 'a', false],
    ['a\\*', 'a\\b', true],
    ['a*', 'a*', true],
    ['(a|b)+${c}^/-', '(a|b)+${c}^/-', true],
  ])('%j and %j: %j', (glob, key, fits) => {
    expect(new Glob(glob).matches(key)).toBe(fits);
  });

  it('match the same keys as the simple matcher', () => {
    const words = (...characters: string[]) =>
      fc.array(fc.constantFrom(...characters), { maxLength: 9 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(
        words('a', 'b', '*', '?', '\u{1f512}'),
        words('a', 'b', '*', '?', '\u{1f512}'),
        (glob, text) => {
          expect(new Glob(glob).matches(text)).toBe(reference(Array.from(glob), Array.from(text)));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it.each([
    ['order:*', 'order:'],
    ['order:?:*', 'order:'],
    ['*', ''],
    ['order:7', 'order:7'],
  ])('keys that match %j start with %j', (glob, head) => {
    expect(new Glob(glob).head).toBe(head);
  });
});
