import { expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../.scripts/fleet.mjs', import.meta.url));

/** What `npm run simulate:fleet` prints about a small fleet; it fails if there is a stampede. */
async function simulate(load: string): Promise<string> {
  const options = ['--no-setup', '--processes', '60', '--load', load, '--fault', 'restart with data'];
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...options]);
  return stdout;
}

it.each(['semaphore', 'election'])(
  'F69: no stampede after a restart of Redis, and a fleet of one seed does the same again: %s',
  async (load) => {
    const [one, other] = await Promise.all([simulate(load), simulate(load)]);
    expect(one).toMatch(/^good: /m);
    expect(other).toBe(one);
  },
);
