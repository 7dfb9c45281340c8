import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';

const script = new URL('../../.scripts/setup.mjs', import.meta.url).href;

/** Writes a file, starts a build immediately, and prints how often the file appeared newer than the build. */
const program = `
  import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  import { newestChange, timeOfBuild } from ${JSON.stringify(script)};
  const folder = mkdtempSync(join(tmpdir(), 'build-time-'));
  let late = 0;
  for (let round = 0; round < 5_000; round++) {
    writeFileSync(join(folder, 'generated'), String(round));
    const startedAt = timeOfBuild();
    if (newestChange(folder) > startedAt.getTime()) late += 1;
  }
  rmSync(folder, { recursive: true });
  console.log(late);
`;

describe('a build', () => {
  it('is up to date if a file was generated in the millisecond of its start', () => {
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
    });
    expect(stdout).toBe('0\n');
  });
});
