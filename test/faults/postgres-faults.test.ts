import { describe, expect, it } from '@jest/globals';
import type { OwnerId } from '../../lib/stores/port/index.js';
import { LockCalls } from '../../lib/stores/postgres/lock-calls.js';
import type { Call } from '../../lib/stores/postgres/request-queue.js';
import { elapse } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { serverFaults } from './rules/server-faults.js';
import { PostgresScene } from './scenes/postgres-scene.js';

whereThereIsPostgres('faults of PostgreSQL', () => {
  describe('faults of PostgreSQL', () => {
    const scene = new PostgresScene();
    serverFaults(scene);

    it('P4: rows of a crashed process are swept', async () => {
      const client = await scene.client();
      await client.query(
        `INSERT INTO distributed_lock.holds VALUES ('dead', 'a:1', 1, distributed_lock.clock() - 1, 1, 1, false, '', 1);
         INSERT INTO distributed_lock.waiters VALUES ('dead', 'a:2', 1, distributed_lock.clock() - 1, 1, 1, 1, 1, '', 1);
         INSERT INTO distributed_lock.tombstones VALUES ('a:3', distributed_lock.clock() - 1)`,
      );
      await client.query('SELECT distributed_lock.sweep()');
      const { rows } = await client.query(
        "SELECT count(*) AS n FROM distributed_lock.tombstones WHERE owner = 'a:3'",
      );
      expect(Number(rows[0]?.['n'])).toBe(0);
      await client.end();
      expect(await scene.leftovers()).toEqual([]);
    });

    it('no request reads a whole table, whatever the statistics: a hold costs the same beside many others', async () => {
      const calls = new LockCalls('distributed_lock', '');
      const client = await scene.client();
      const run = async (call: Call<unknown>): Promise<void> => {
        const { text, values } = calls.run([call.key], JSON.stringify([call.request]));
        await client.query(text, values);
      };
      const [key, limited] = [scene.key(), scene.key()];
      const ask = (name: string, owner: string, limit: number): Promise<void> =>
        run(
          calls.acquire({
            key: name,
            owner: owner as OwnerId,
            lease: 30_000,
            claimLease: 2_000,
            wait: true,
            contended: false,
            callers: 1,
            tokens: 1,
            limit,
            permits: 1,
            label: undefined,
          }),
        );
      const release = (name: string, owner: string): Promise<void> =>
        run(calls.release({ key: name, owner: owner as OwnerId, wasGranted: true, inDoubt: false }));
      await client.query('BEGIN');
      for (let round = 0; round < 8; round++) {
        for (const [name, limit] of [
          [key, 1],
          [limited, 2],
        ] as const) {
          for (const owner of ['a:1', 'b:1', 'c:1']) await ask(name, owner, limit);
          const { text, values } = calls.renew([{ key: name, owner: 'a:1' as OwnerId, lease: 30_000 }]);
          await client.query(text, values);
          for (const owner of ['a:1', 'b:1', 'c:1']) await release(name, owner);
        }
      }
      const { rows } = await client.query(
        `SELECT sum(seq_scan)::integer AS whole, sum(idx_scan)::integer AS by_index FROM pg_stat_xact_user_tables
          WHERE schemaname = 'distributed_lock'`,
      );
      await client.query('ROLLBACK');
      await client.end();
      expect(rows[0]?.['by_index']).toBeGreaterThan(100);
      expect(rows[0]?.['whole']).toBe(0);
    });

    it('a transaction that has read its hold FOR UPDATE delays the next holder until it ends', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      const key = scene.key();
      const held = await app.locks.acquire(key, { leaseTime: 2_000 });
      const find = async (token: number): Promise<number> => {
        const { rows } = await client.query(
          `SELECT 1 FROM distributed_lock.holds
            WHERE key = $1 AND token <= $2 AND ends > extract(epoch FROM clock_timestamp()) * 1000000 FOR UPDATE`,
          [key, token],
        );
        return rows.length;
      };
      await client.query('BEGIN');
      expect(await find(held.token)).toBe(1);
      const order: string[] = [];
      const taking = other.locks.acquire(key, { waitTime: 30_000 }).then((handle) => {
        order.push('taken over');
        return handle;
      });
      await elapse(2_300);
      order.push('committed');
      await client.query('COMMIT');
      const next = await taking;
      expect(order).toEqual(['committed', 'taken over']);
      expect(await find(held.token)).toBe(0);
      expect(await find(next.token)).toBe(1);
      await next.release();
      await client.end();
    });
  });
});
