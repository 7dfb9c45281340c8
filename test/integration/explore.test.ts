import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../.scripts/explore.mjs', import.meta.url));
const explore = (...options: string[]): Promise<{ readonly stdout: string }> =>
  promisify(execFile)(process.execPath, [script, '--no-setup', ...options]);

describe('the explorer of the state machine', () => {
  it('finds every planted bug, and prints its shortest run', async () => {
    const { stdout } = await explore('--plants');
    const found = [...stdout.matchAll(/^found (.+) after \d+ transitions: (.+)$/gm)].map(([, name]) => name);
    expect(stdout).not.toContain('NOT FOUND');
    expect(found.length).toBeGreaterThanOrEqual(9);
  });

  it('P10, P20, P26, B10: finds nothing in the state machine without planted bugs', async () => {
    const { stdout } = await explore('--transitions', '60000');
    expect(stdout).toMatch(/^good: 60\d{3} transitions/m);
  });
});
