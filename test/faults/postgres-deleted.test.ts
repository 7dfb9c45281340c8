import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { postgresMigration } from '../../lib/stores/postgres/index.js';
import { queuedIn, type LockApp } from '../support/lock-app.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';
import { next, rejectionOf } from '../support/until.js';
import { PostgresScene } from './scenes/postgres-scene.js';

const S = 'distributed_lock';
/** What an operator deletes, and whether holds are lost by that. */
const ROWS = [
  ['all rows', `TRUNCATE ${S}.holds, ${S}.waiters, ${S}.tombstones, ${S}.board`, true],
  ['all holds', `TRUNCATE ${S}.holds`, true],
  ['all waiters', `TRUNCATE ${S}.waiters`, false],
  ['all tombstones', `TRUNCATE ${S}.tombstones`, false],
  ['the last token', `ALTER SEQUENCE ${S}.tokens RESTART`, false],
] as const;
const PARTS = [
  ['the schema', `DROP SCHEMA ${S} CASCADE`, true],
  ['a function', `DROP FUNCTION ${S}.run(text[], jsonb)`, false],
  ['a function that others call', `DROP FUNCTION ${S}.reserve_tokens(integer, bigint)`, false],
  ['the sequence', `DROP SEQUENCE ${S}.tokens`, false],
  ['the table of holds', `DROP TABLE ${S}.holds CASCADE`, true],
  ['the table of waiters', `DROP TABLE ${S}.waiters CASCADE`, false],
  ['the table of tombstones', `DROP TABLE ${S}.tombstones CASCADE`, false],
] as const;

whereThereIsPostgres('deleted data of PostgreSQL', () => {
  describe('deleted data of PostgreSQL', () => {
    const scene = new PostgresScene();

    async function worksOn(key: string, least: number, ...apps: readonly LockApp[]): Promise<void> {
      let last = least;
      for (const app of [...apps, ...apps]) {
        const handle = await app.locks.acquire(key, { waitTime: 3_000 });
        expect(handle.token).toBeGreaterThan(last);
        last = handle.token;
        expect(await handle.release()).toBe('released');
      }
    }

    it.each(ROWS)(
      'F52: %s: holders are notified, waiters are served, and tokens grow',
      async (_, sql, ends) => {
        const [holder, waiter, idle] = [
          await scene.app({ watchdogTimeout: 3_000 }),
          await scene.app(),
          await scene.app(),
        ];
        const key = scene.key();
        const held = await holder.locks.acquire(key);
        const waiting = waiter.locks.acquire(key, { waitTime: 10_000 });
        await queuedIn(waiter, key);
        const lost = next(holder.locks.events, (event) => event.type === 'lost', 5_000);
        if (!ends) lost.catch(() => undefined);
        await scene.query(sql);
        if (ends) await lost;
        else expect(await held.release()).toBe('released');
        const served = await waiting;
        expect(served.token).toBeGreaterThan(held.token);
        expect(await served.release()).toBe('released');
        await worksOn(key, served.token, idle, holder, waiter);
      },
    );

    it.each(PARTS)(
      'F52: %s: the error names the remedy, which takes effect without a restart of connected processes',
      async (_, sql, ends) => {
        const app = await scene.app({ watchdogTimeout: 3_000 });
        const key = scene.key();
        const held = await app.locks.acquire(key);
        const lost = next(app.locks.events, (event) => event.type === 'lost', 10_000);
        if (!ends) lost.catch(() => undefined);
        await scene.query(sql);
        const error = await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 1_000 }));
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect((error as Error).message).toMatch(/Run the SQL of postgresMigration\(\), or set createSchema/);
        await scene.query(postgresMigration());
        if (ends) await lost;
        await held.release();
        await worksOn(key, held.token, app, await scene.app());
      },
    );

    it.each(PARTS)('F52: %s, with createSchema: it is created again automatically', async (_, sql, ends) => {
      const [one, other] = [
        await scene.app({ watchdogTimeout: 3_000, options: { createSchema: true } }),
        await scene.app({ options: { createSchema: true } }),
      ];
      const key = scene.key();
      const held = await one.locks.acquire(key);
      const lost = next(one.locks.events, (event) => event.type === 'lost', 10_000);
      if (!ends) lost.catch(() => undefined);
      await scene.query(sql);
      await other.locks.acquire(scene.key(), { waitTime: 3_000 });
      if (ends) await lost;
      await held.release();
      await worksOn(key, held.token, other, one);
    });
  });
});
