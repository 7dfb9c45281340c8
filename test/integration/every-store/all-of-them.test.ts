import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operatedStores } from './operated-stores.js';

/** Folders of `lib/stores` that need no server. */
const WITHOUT_SERVERS = ['fallback', 'memory', 'ordered', 'port'];

describe('operating a store', () => {
  it('is tested with every store that has servers, each in its own file', () => {
    const folders = readdirSync(fileURLToPath(new URL('../../../lib/stores/', import.meta.url)));
    const stores = folders.filter((name) => !WITHOUT_SERVERS.includes(name));
    expect(Object.keys(operatedStores)).toEqual(expect.arrayContaining(stores));
    for (const store of Object.keys(operatedStores)) {
      const file = fileURLToPath(new URL(`./${store}.test.ts`, import.meta.url));
      expect([store, existsSync(file)]).toEqual([store, true]);
    }
  });
});
