import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const folder = join(import.meta.dirname, '../../../.github/workflows');

describe('the workflows', () => {
  it.each(readdirSync(folder))('%s pins every action by its commit, with the version beside it', (name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    const used = [...text.matchAll(/\buses: *(.*)$/gm)].map(([, action]) => action);
    const pinned = used.filter((action) => /^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action ?? ''));
    expect(pinned).toEqual(used);
  });
});
