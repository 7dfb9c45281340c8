import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../support/listening-process.mjs', import.meta.url));

describe('a process', () => {
  it('F26: is ended by none of its listeners, during work or shutdown', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script]);
    expect(stderr).toBe('');
    expect(stdout).toBe('survived\n');
  });
});
