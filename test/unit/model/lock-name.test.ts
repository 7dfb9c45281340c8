import { describe, expect, it } from '@jest/globals';
import { LockOptionsError, type LockOptions } from '../../../lib/index.js';
import { boundedOperation } from '../../../lib/model/lock-kind.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';

describe('O2: names of locks', () => {
  it('a process distinguishes 200 names, and keeps the known ones', () => {
    const names = Array.from({ length: 300 }, (_, index) => boundedOperation(`name ${String(index)}`));
    expect(new Set(names).size).toBe(200);
    // `default` is one of them.
    expect(names[198]).toBe('name 198');
    expect(names.slice(199)).toEqual(Array.from({ length: 101 }, () => 'other'));
    expect(boundedOperation('name 3')).toBe('name 3');
    expect(boundedOperation('default')).toBe('default');
  });

  it.each(['', 'a'.repeat(101), 'line\nbreak', 7, null])('%j is rejected', (operation) => {
    const options = { operation } as LockOptions;
    expect(() => resolveLockOptions('a test', options, 0)).toThrow(LockOptionsError);
    expect(() => resolveLockOptions('a test', options, 0)).toThrow(
      /^a test: operation must be a string of 1 to 100 printable characters/,
    );
  });

  it('is `default` if it is left out', () => {
    expect(resolveLockOptions('a test', undefined, 0).operation).toBe('default');
    expect(resolveLockOptions('a test', {}, 0).operation).toBe('default');
    expect(resolveLockOptions('a test', { operation: 'Lager ü' }, 0).operation).toBe('Lager ü');
  });
});
