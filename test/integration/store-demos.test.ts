import { tmpdir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { Demos, readTable } from '../support/demo-run.js';
import { whereThereIsEtcd, whereThereIsPostgres, whereThereIsZooKeeper } from '../support/where-there-is.js';

/** Tests the demo with a store whose leader is killed during the sale. */
function survives(store: string, whatIsKilled: RegExp): void {
  describe(`npm run demo -- --store ${store} --kill-leader`, () => {
    const demos = new Demos(tmpdir());

    it('sells exactly the stock, and leaves nothing behind', async () => {
      const sale = ['--instances', '2', '--stock', '90', '--orders', '180'];
      const demo = demos.start(['--store', store, '--kill-leader', ...sale]);
      const code = await demo.ended().catch((error: unknown) => error);
      const output = demo.output();
      if (code !== 0) throw new Error(`the demo ended with ${String(code)}:\n${output}`);
      expect(output).toMatch(whatIsKilled);
      expect(readTable(output)['protected']).toMatchObject({
        sold: 90,
        left: 0,
        oversold: 0,
        rejected: 90,
      });
      expect(output).toContain('exactly 90 were sold, in 90 orders; the database agrees');
      demos.expectNothingLeft();
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
