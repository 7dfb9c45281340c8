import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { groups } from './scenes/server-group.js';

const folder = (path: string): string => join(import.meta.dirname, path);

/** They have no server to themselves, or rules of their own: a server that may lose everything has other faults. */
const OTHERS = ['fallback', 'memory', 'ordered', 'port', 'quorum', 'redis'];
const stores = readdirSync(folder('../../lib/stores')).filter((name) => !OTHERS.includes(name));

/** By the ending of a test file of each store: the rules that it has to run. */
const RULES = {
  faults: 'serverFaults',
  exit: 'exitRules',
  start: 'startRules',
  cluster: 'groupFaults',
};

describe('the rules for faults', () => {
  it('are run over every store with a server that keeps what it has', () => {
    expect(stores).not.toEqual([]);
    expect(Object.keys(groups).sort()).toEqual([...stores].sort());
    for (const store of stores) {
      for (const [ending, rules] of Object.entries(RULES)) {
        const test = readFileSync(folder(`${store}-${ending}.test.ts`), 'utf8');
        expect(test).toMatch(new RegExp(`^ +${rules}\\(`, 'm'));
      }
    }
  });

  it('are all run', () => {
    const files = readdirSync(folder('rules')).filter((name) => name.endsWith('.rules.ts'));
    const all = files.flatMap((name) =>
      [...readFileSync(folder(`rules/${name}`), 'utf8').matchAll(/^export function (\w+)/gm)].map(
        ([, rule = '']) => rule,
      ),
    );
    const together = readFileSync(folder('rules/server-faults.ts'), 'utf8');
    const called = [...together.matchAll(/^ {2}(\w+)\(scene\);/gm)].map(([, rule = '']) => rule);
    expect([...called, ...Object.values(RULES)].sort()).toEqual([...all, 'serverFaults'].sort());
  });
});
