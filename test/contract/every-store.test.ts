import { describe, expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stores } from './stores.js';

const names = (folder: string, only: 'folders' | 'files'): string[] =>
  readdirSync(fileURLToPath(new URL(folder, import.meta.url)), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() === (only === 'folders'))
    .map(({ name }) => name);

describe('the contract', () => {
  it('P43: is run over every store that there is', () => {
    expect(Object.keys(stores).sort()).toEqual(names('../../lib/stores/', 'folders').sort());
    for (const store of Object.keys(stores)) expect(names('./', 'files')).toContain(`${store}.test.ts`);
  });
});
