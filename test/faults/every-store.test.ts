import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groups } from './scenes/server-group.js';

const folder = (path: string): string => join(import.meta.dirname, path);

/** Stores without a server of their own, or with rules of their own: a server that may lose all data has other faults. */
const OTHERS = ['fallback', 'memory', 'ordered', 'port', 'quorum', 'redis', 'redisson'];
const stores = readdirSync(folder('../../lib/stores')).filter((name) => !OTHERS.includes(name));

/** The rules that each test file of a store must run, by the ending of its name. */
const RULES = {
  faults: 'serverFaults',
  start: 'startRules',
  cluster: 'groupFaults',
};

describe('the fault rules', () => {
  it('run over every store with a persistent server', () => {
    expect(stores).not.toEqual([]);
    expect(Object.keys(groups).sort()).toEqual([...stores].sort());
    for (const store of stores) {
      for (const [ending, rules] of Object.entries(RULES)) {
        const test = readFileSync(folder(`${store}-${ending}.test.ts`), 'utf8');
        expect(test).toMatch(new RegExp(`^ +${rules}\\(`, 'm'));
      }
    }
  });

  it('are all used', () => {
    const texts = readdirSync(folder('rules')).map((name) => readFileSync(folder(`rules/${name}`), 'utf8'));
    const named = (pattern: RegExp): string[] =>
      texts.flatMap((text) => [...text.matchAll(pattern)].map(([, rule = '']) => rule));
    const called = named(/^ {2}(\w+)\(scene\b/gm);
    expect([...called, ...Object.values(RULES)].sort()).toEqual(named(/^export function (\w+)/gm).sort());
  });
});
