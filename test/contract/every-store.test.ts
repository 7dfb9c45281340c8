import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { delayed } from './delayed.js';
import { stores } from './stores.js';
import { topologies } from './topologies.js';

const names = (folder: string, only: 'folders' | 'files'): string[] =>
  readdirSync(fileURLToPath(new URL(folder, import.meta.url)), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() === (only === 'folders'))
    .map(({ name }) => name);

describe('the contract', () => {
  it('P43: runs on every store', () => {
    const implementations = names('../../lib/stores/', 'folders').filter(
      (name) => !['port', 'ordered'].includes(name),
    );
    expect(Object.keys(stores).sort()).toEqual(implementations.sort());
    for (const store of Object.keys(stores)) expect(names('./', 'files')).toContain(`${store}.test.ts`);
  });

  it('P43: runs on a server at every tested distance', () => {
    for (const store of Object.keys(delayed)) expect(names('./', 'files')).toContain(`${store}.test.ts`);
  });

  it('P43: runs on every topology', () => {
    const files = {
      sentinel: 'redis-sentinel',
      'sentinel with confirmed grants': 'redis-replicas',
      cluster: 'redis-cluster',
      'cluster with the locks of Redisson': 'redisson-cluster',
    };
    expect(Object.keys(files).sort()).toEqual(Object.keys(topologies).sort());
    for (const file of Object.values(files)) expect(names('./', 'files')).toContain(`${file}.test.ts`);
  });
});
