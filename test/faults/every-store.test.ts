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
    const inFolder = (path: string): string[] =>
      readdirSync(folder(path), { withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ name }) => readFileSync(folder(`${path}/${name}`), 'utf8'));
    const rules = inFolder('rules').flatMap((text) => [...text.matchAll(/^export function (\w+)/gm)]);
    const used = [...inFolder('.'), ...inFolder('rules')].join('\n');
    const unused = rules
      .map(([, rule = '']) => rule)
      .filter((rule) => !new RegExp(`^ +${rule}\\(`, 'm').test(used));
    expect(rules).not.toEqual([]);
    expect(unused).toEqual([]);
  });
});
