import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const script = fileURLToPath(new URL('../../.scripts/explore.mjs', import.meta.url));

/** What `npm run explore` prints; it fails if an invariant is broken. */
async function explore(...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--no-setup', ...options]);
  return stdout;
}

/** Repeats a run: a violation is printed as a test that calls this. */
function replay(part: string, scenario: string, run: readonly string[]): Promise<string> {
  return explore(`--${part}`, '--scenario', scenario, '--replay', run.join('; '));
}

describe('the explorer', () => {
  it.each([
    ['machine', 12],
    ['scripts', 19],
    ['redis', 1],
    ['quorum', 7],
    ['ordered', 11],
  ])(
    'finds every bug that is planted in %s, and prints the shortest run that shows it',
    async (part, bugs) => {
      const found = [
        ...(await explore(`--${part}`, '--plants')).matchAll(/^found .+ after \d+ transitions/gm),
      ];
      expect(found).toHaveLength(bugs);
    },
  );

  it('P10, P20, P26, B10: finds nothing in the line of a key', async () => {
    expect(await explore('--machine', '--transitions', '60000')).toMatch(
      /^good: machine, 60\d{3} transitions/m,
    );
  });

  it('P10, P20, P26, B10: finds nothing in the line on the real scripts', async () => {
    expect(await explore('--redis', '--transitions', '100000')).toMatch(/^good: redis, 15\d{2} transitions/m);
  });

  it('P42, B10, B16: finds nothing in a quorum of three members', async () => {
    expect(await explore('--quorum', '--transitions', '60000')).toMatch(
      /^good: quorum, 36\d{2} transitions/m,
    );
  });

  it('B10, B16, B23: finds nothing in the session of an ordered queue', async () => {
    expect(await explore('--ordered', '--transitions', '60000')).toMatch(
      /^good: ordered, 60\d{2} transitions/m,
    );
  });

  it('B23: a late notice that a hold was broken does not concern the next hold of its owner', async () => {
    const run = [
      ...['A calls', 'B breaks', 'C calls', 'C request arrives', 'B request arrives', 'B breaks'],
      ...['A request arrives', 'B request arrives', 'B request arrives'],
    ];
    expect(await replay('ordered', 'broken holds', run)).toMatch(/^good/m);
  });

  it('P20: a waiter that could not be reached still counts for the process that comes next', async () => {
    const run = ['A:1 waits', 'A:2 waits', 'B:1 waits', 'A stops listening', 'A:1 releases'];
    expect(await replay('scripts', 'exclusive, lost subscriptions', run)).toMatch(/^good/m);
  });

  it('F68: a waiter that listens at a replica is not sent a grant that is taken back', async () => {
    const run = [
      ...['A calls exclusive', 'A reaches the store', 'A gets an answer', 'B calls exclusive'],
      ...['B reaches the store', 'B gets an answer', 'the server fails over', 'A ends hold 0'],
      ...['A reaches the store', 'A gets an answer', 'A calls exclusive', 'A reaches the store'],
    ];
    expect(await replay('redis', 'after a planned failover', run)).toMatch(/^good/m);
  });

  it('F68: a release that a failover has lost is repeated', async () => {
    const run = [
      ...['A calls exclusive', 'A reaches the store', 'A gets an answer', 'A ends hold 0'],
      ...['A reaches the store', 'the server crashes'],
    ];
    expect(await replay('machine', 'a lost release', run)).toMatch(/^good/m);
  });
});
