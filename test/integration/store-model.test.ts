import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../.scripts/explore.mjs', import.meta.url));

describe('the model of a store that the explorer uses', () => {
  it('answers like the real scripts, and has the same holders, queue, tombstones and tokens, as time passes', async () => {
    const options = ['--no-setup', '--scripts', '--transitions', '300000'];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...options]);
    expect(stdout).toMatch(/^good: scripts, 36\d{3} transitions/m);
  });
});
