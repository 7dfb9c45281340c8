import { describe, expect, it } from '@jest/globals';
import { globPattern, redisLiteral, redisPattern } from '../../lib/common/glob.js';

describe('what keys look like', () => {
  it.each([
    ['*', 'any thing\n', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a?c', 'a\u{1f512}c', true],
    ['order:*', 'order:7', true],
    ['order:*', 'my order:7', false],
    ['[a]', '[a]', true],
    ['[a]', 'a', false],
    ['a.b', 'axb', false],
    ['a\\*', 'a\\b', true],
    ['(a|b)+${c}^/-', '(a|b)+${c}^/-', true],
  ])('%j and %j: %j', (glob, key, fits) => {
    expect(globPattern(glob).test(key)).toBe(fits);
  });

  it('for Redis every character but * and ? stands for itself', () => {
    expect(redisPattern('a[b]\\c*?')).toBe('a\\[b\\]\\\\c*?');
    expect(redisLiteral('lock:*[?]')).toBe('lock:\\*\\[\\?\\]');
  });
});
