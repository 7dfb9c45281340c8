import { describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import { postgresMigration } from '../../lib/stores/postgres/index.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { next, rejectionOf } from '../support/until.js';
import { deleteUnder, tokensGrow } from './deleted-data.js';
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

    it.each(ROWS)(
      'F52: %s: holders are notified, waiters are served, and tokens grow',
      async (_, sql, ends) => {
        await deleteUnder(scene, () => scene.query(sql), ends);
      },
    );

    describe.each([false, true])('with createSchema: %p', (createSchema) => {
      it.each(PARTS)(
        'F52: %s: it is created again, or the error names the remedy, without a restart of connected processes',
        async (_, sql, ends) => {
          const options = { createSchema };
          const [app, other] = [
            await scene.app({ watchdogTimeout: 3_000, options }),
            await scene.app({ options }),
          ];
          const key = scene.key();
          const held = await app.locks.acquire(key);
          const lost = next(app.locks.events, (event) => event.type === 'lost', 10_000);
          if (!ends) lost.catch(() => undefined);
          await scene.query(sql);
          if (createSchema) {
            await other.locks.acquire(scene.key(), { waitTime: 3_000 });
          } else {
            const error = await rejectionOf(app.locks.acquire(scene.key(), { waitTime: 1_000 }));
            expect(error).toBeInstanceOf(LockUnavailableError);
            expect((error as Error).message).toMatch(
              /Run the SQL of postgresMigration\(\), or set createSchema/,
            );
            await scene.query(postgresMigration());
          }
          if (ends) await lost;
          await held.release();
          await tokensGrow(key, held.token, [other, app]);
        },
      );
    });
  });
});
