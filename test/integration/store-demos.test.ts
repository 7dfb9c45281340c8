import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Leftovers } from '../../.scripts/demo/leftovers.mjs';
import { prepareSampleApp } from '../../.scripts/demo/sample-app.mjs';
import { processesWith, readTable, withoutRedisUrl } from '../support/demo-run.js';
import { within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { whereThereIsZooKeeper } from '../support/where-there-is-zookeeper.js';

const demoScript = fileURLToPath(new URL('../../.scripts/demo.mjs', import.meta.url));
/** Shorter than the test timeout, so that a failure shows the output of the demo. */
const PATIENCE_MS = 290_000;

/** Tests the demo with a store whose leader is killed during the sale. */
function survives(store: string, whatIsKilled: RegExp): void {
  describe(`npm run demo -- --store ${store} --kill-leader`, () => {
    const leftovers = new Leftovers();
    /** Temporary files of the demo. Its processes are found by this path. */
    let scratch: string;

    beforeAll(() => prepareSampleApp({ leftovers, log: () => undefined }));
    afterAll(() => leftovers.remove());
    beforeEach(() => {
      scratch = mkdtempSync(join(tmpdir(), 'demo-test-'));
      // PostgreSQL runs as its own user.
      chmodSync(scratch, 0o755);
    });
    afterEach(() => {
      for (const { pid } of processesWith(scratch)) process.kill(pid, 'SIGKILL');
      rmSync(scratch, { recursive: true, force: true });
    });

    it('sells exactly the stock, and leaves nothing behind', async () => {
      const args = [
        '--store',
        store,
        '--kill-leader',
        '--instances',
        '2',
        '--stock',
        '90',
        '--orders',
        '180',
      ];
      const child = spawn(process.execPath, [demoScript, ...args], {
        env: { ...withoutRedisUrl(), TMPDIR: scratch },
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => (output += text));
      }
      const ended = once(child, 'close').then(([code]) => code as number | null);
      const code = await within(PATIENCE_MS, 'the end of the demo', ended).catch((error: unknown) => error);
      if (code !== 0) throw new Error(`the demo ended with ${String(code)}:\n${output}`);
      expect(output).toMatch(whatIsKilled);
      expect(readTable(output)['protected']).toMatchObject({
        sold: 90,
        left: 0,
        oversold: 0,
        rejected: 90,
      });
      expect(output).toContain('exactly 90 were sold, in 90 orders; the database agrees');
      expect(processesWith(scratch)).toEqual([]);
      expect(readdirSync(scratch)).toEqual([]);
    });
  });
}

whereThereIsEtcd('the demo with etcd', () => {
  survives(
    'etcd',
    /The leader of the etcd with the locks was killed after \d+ orders, and there was a new one/,
  );
});

whereThereIsPostgres('the demo with PostgreSQL', () => {
  survives('postgres', /The server of the locks was killed after \d+ orders, and it was back after/);
});

whereThereIsZooKeeper('the demo with ZooKeeper', () => {
  survives(
    'zookeeper',
    /The leader of the ZooKeeper with the locks was killed after \d+ orders, and there was a new one/,
  );
});
