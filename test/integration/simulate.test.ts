import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../.scripts/simulate.mjs', import.meta.url));

/** What `npm run simulate` prints about one short run; it fails if a promise is broken. */
async function simulate(kind: string): Promise<string> {
  const options = ['--no-setup', '--kind', kind, '--seed', '1', '--events', '1', '--events-per-run', '1000'];
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...options]);
  return stdout;
}

describe('the simulation', () => {
  it.each(['memory', 'quorum', 'fallback', 'redis', 'redisson', 'redisson cluster'])(
    'keeps every promise on %s, and repeats a run of one seed exactly',
    async (kind) => {
      const digests = (await Promise.all([simulate(kind), simulate(kind)])).map(
        (line) => /^good: \d+ events .* digest (\w+);/.exec(line)?.[1],
      );
      expect(digests).toEqual([expect.stringMatching(/^\w+$/), digests[0]]);
    },
  );
});
