import { describe, expect, it } from '@jest/globals';
import { PARTS, testFiles } from '../../../.scripts/test-parts.mjs';

describe('the parts of the tests', () => {
  const patterns = Object.values(PARTS).flatMap(({ files }) => files);

  it('have each test file in one part', () => {
    const inSeveral = testFiles().filter(
      (file) =>
        Object.values(PARTS).filter(({ files }) => files.some((pattern) => new RegExp(pattern).test(file)))
          .length > 1,
    );
    expect(testFiles()).not.toEqual([]);
    expect(inSeveral).toEqual([]);
  });

  it('name only test files that exist', () => {
    const names = patterns.flatMap((pattern) => {
      const [, before = pattern, choice = '', after = ''] = /^(.*)\(([^)]*)\)(.*)$/.exec(pattern) ?? [];
      return choice ? choice.split('|').map((name) => before + name + after) : [pattern];
    });
    const gone = names.filter((name) => !testFiles().some((file) => new RegExp(name).test(file)));
    expect(gone).toEqual([]);
  });
});
