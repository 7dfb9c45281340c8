import { describe, expect, it } from '@jest/globals';
import { elapse } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { serverFaults } from './rules/server-faults.js';
import { PostgresScene } from './scenes/postgres-scene.js';

whereThereIsPostgres('faults of PostgreSQL', () => {
  describe('faults of PostgreSQL', () => {
    const scene = new PostgresScene();
    serverFaults(scene);

    it('P4: rows of a crashed process are swept', async () => {
      const client = await scene.client();
      await client.query(
        `INSERT INTO distributed_lock.holds VALUES ('dead', 'a:1', 1, distributed_lock.clock() - 1, 1, 1, false, '');
         INSERT INTO distributed_lock.waiters VALUES ('dead', 'a:2', 1, distributed_lock.clock() - 1, 1, 1, 1, 1, '');
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

    it('a fencing token can be checked by the statement that writes', async () => {
      const app = await scene.app();
      const client = await scene.client();
      await client.query(
        'CREATE TABLE stock (sku text PRIMARY KEY, left_over integer, lock_token bigint DEFAULT 0)',
      );
      await client.query("INSERT INTO stock VALUES ('apple', 10)");
      const write = async (token: number): Promise<number> => {
        const { rows } = await client.query(
          "UPDATE stock SET left_over = left_over - 1, lock_token = $1 WHERE sku = 'apple' AND lock_token <= $1 RETURNING 1",
          [token],
        );
        return rows.length;
      };
      const key = scene.key();
      const stale = await app.locks.acquire(key);
      await app.admin.forceRelease(key);
      const fresh = await app.locks.acquire(key);
      expect(await write(fresh.token)).toBe(1);
      expect(await write(stale.token)).toBe(0);
      await fresh.release();
      await client.end();
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
