import { describe, expect, it } from '@jest/globals';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { postgresMigration } from '../../../../lib/stores/postgres/index.js';

describe('hosts in FIPS mode', () => {
  it('find no MD5, in the code or in the schema: OpenSSL rejects it there', async () => {
    const entries = await readdir('lib', { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(100);
    const using: string[] = [];
    for (const { parentPath, name } of files) {
      const file = join(parentPath, name);
      if (/['"`]md5\b|\bmd5\(/i.test(await readFile(file, 'utf8'))) using.push(file);
    }
    expect(using).toEqual([]);
    expect(postgresMigration()).not.toMatch(/md5/i);
  });
});
