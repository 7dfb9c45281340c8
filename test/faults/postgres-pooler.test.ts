import { describe, expect, it } from '@jest/globals';
import { PgBouncer, pgBouncerProgram } from '../support/pg-bouncer.js';
import { queuedIn } from '../support/lock-app.js';
import { ExclusionWitness } from '../support/exclusion-witness.js';
import { next, until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { PostgresScene } from './scenes/postgres-scene.js';

const patient = { waitTime: 60_000 };

whereThereIsPostgres('PostgreSQL behind a pooler', () => {
  if (pgBouncerProgram === undefined) {
    it.skip('needs PgBouncer: run it with npm run test:stores where it can be installed', () => undefined);
    return;
  }
  describe('PostgreSQL behind a pooler', () => {
    const scene = new PostgresScene();
    const withBouncer = async (use: (bouncer: PgBouncer) => Promise<void>): Promise<void> => {
      const bouncer = await PgBouncer.before(scene.server.port);
      try {
        await use(bouncer);
        await scene.endings.endApps();
      } finally {
        await bouncer.close();
      }
    };

    it('locks exclude each other over fewer connections than processes, and grants are pushed over a direct one', () =>
      withBouncer(async ({ port }) => {
        const options = { listen: scene.server.url };
        const apps = await Promise.all(Array.from({ length: 5 }, () => scene.app({ port, options })));
        const witness = new ExclusionWitness();
        const key = scene.key();
        const tokens: number[] = [];
        const calls = apps.flatMap(({ locks }) =>
          Array.from({ length: 20 }, (_, index) =>
            locks.withLock(key, { ...patient, fair: index % 2 === 0 }, async ({ token }) => {
              witness.enter();
              tokens.push(token);
              await Promise.resolve();
              witness.leave();
            }),
          ),
        );
        await Promise.all(calls);
        expect(witness.most).toBe(1);
        expect(tokens).toEqual([...new Set(tokens)].sort((one, other) => one - other));
        for (const app of apps) expect(app.log.matching('goes through a pooler')).toEqual([]);
        await scene.nothingLeft();
      }));

    it('renews holds, and acquires many keys at once', () =>
      withBouncer(async ({ port }) => {
        const options = { listen: scene.server.url };
        const app = await scene.app({ port, options, watchdogTimeout: 600 });
        const keys = Array.from({ length: 20 }, () => scene.key());
        const handle = await app.locks.acquire(keys);
        for (let round = 0; round < 3; round++) {
          await next(app.locks.events, (event) => event.type === 'renewed', 30_000);
        }
        expect(handle.isHeld).toBe(true);
        expect(await handle.release()).toBe('released');
        await scene.nothingLeft();
      }));

    it('logs once that nothing can be pushed through it, and waiters get the lock by polling', () =>
      withBouncer(async ({ port }) => {
        const [holder, waiter] = [await scene.app({ port }), await scene.app({ port })];
        for (let round = 0; round < 2; round++) {
          const key = scene.key();
          const handle = await holder.locks.acquire(key);
          const waiting = waiter.locks.acquire(key, patient);
          await queuedIn(waiter, key);
          await handle.release();
          await (await waiting).release();
        }
        // Each of them once. Nest writes to the log of the application that was started last.
        const warnings = (): readonly unknown[] =>
          [holder, waiter].flatMap(({ log }) => log.matching('goes through a pooler such as PgBouncer'));
        await until('the warnings', () => warnings().length >= 2);
        expect(warnings()).toHaveLength(2);
        await scene.nothingLeft();
      }));

    it('logs what to set for a user whose default isolation is not read committed, which a pooled session cannot set', () =>
      withBouncer(async ({ port }) => {
        const client = await scene.client();
        await client.query("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'");
        try {
          const app = await scene.app({ port, options: { listen: false } });
          expect(app.log.matching('ALTER ROLE "postgres" SET default_transaction_isolation')).toHaveLength(1);
        } finally {
          await client.query('ALTER DATABASE postgres RESET default_transaction_isolation');
          await client.end();
        }
      }));
  });
});
