import { compileFunction } from 'node:vm';
import { transformSync as swc } from '@swc/core';
import { transformSync as esbuild } from 'esbuild';
import { describe, expect, it } from '@jest/globals';
import { Locked, LockOptionsError } from '../../../lib/index.js';

/** Compilers that check no types, as applications use them. */
const COMPILERS: Readonly<Record<string, (code: string) => string>> = {
  SWC: (code) =>
    swc(code, {
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        externalHelpers: false,
      },
      isModule: false,
    }).code,
  'esbuild, tsx': (code) => compiledByEsbuild(code, true),
};

function compiledByEsbuild(code: string, experimentalDecorators: boolean): string {
  const tsconfigRaw = { compilerOptions: { experimentalDecorators } };
  return esbuild(code, { loader: 'ts', target: 'es2022', tsconfigRaw }).code;
}

/** Defines the class with `Locked` in scope. */
function define(code: string): () => unknown {
  return () => (compileFunction(code, ['Locked']) as (locked: unknown) => unknown)(Locked);
}

describe.each(Object.entries(COMPILERS))('F66: @Locked compiled by %s', (_, compile) => {
  it.each([
    [
      '@Locked',
      'class Things { @Locked async act() {} }',
      /@Locked on act: write it with parentheses, above a method/,
    ],
    ['@Locked on a class', '@Locked class Things {}', /@Locked: write it with parentheses, above a method/],
    [
      '@Locked on a field',
      'class Things { @Locked act = async () => {} }',
      /@Locked on act: write it with parentheses/,
    ],
    ['@Locked() on a class', "@Locked('k') class Things {}", /@Locked: put it on methods, not on the class/],
    [
      '@Locked() on a field',
      "class Things { @Locked('k') act = async () => {} }",
      /@Locked on Things\.act: put it on a method/,
    ],
  ])('%s fails when the class is defined, and says what to write', (_what, code, message) => {
    const defined = define(compile(code));
    expect(defined).toThrow(LockOptionsError);
    expect(defined).toThrow(message);
  });

  it('locks a method', () => {
    expect(define(compile("class Things { @Locked('k') async act() {} }"))).not.toThrow();
  });
});

describe('F66: @Locked compiled without experimentalDecorators', () => {
  it.each([
    ['@Locked()', "class Things { @Locked('k') async act() {} }", /set experimentalDecorators: true/],
    [
      '@Locked() on a field',
      "class Things { @Locked('k') act = async () => {} }",
      /set experimentalDecorators: true/,
    ],
    ['@Locked', 'class Things { @Locked async act() {} }', /write it with parentheses/],
  ])('%s says what to set', (_what, code, message) => {
    const defined = define(compiledByEsbuild(code, false));
    expect(defined).toThrow(LockOptionsError);
    expect(defined).toThrow(message);
  });
});
