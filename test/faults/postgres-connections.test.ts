import { describe, expect, it } from '@jest/globals';
import { elapse, next, until, within } from '../support/until.js';
import type { TestPgClient } from '../support/postgres-server.js';
import { keepAliveOfConnectionsTo } from '../support/keep-alive.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';
import { PostgresScene } from './scenes/postgres-scene.js';

const OF_LOCKS = "application_name = 'nestjs-distributed-lock'";
const MOST_CONNECTIONS = 20;

const patient = { waitTime: 60_000 };

whereThereIsPostgres('connections to PostgreSQL', () => {
  describe('connections to PostgreSQL', () => {
    const scene = new PostgresScene({ settings: { max_connections: String(MOST_CONNECTIONS) } });

    /** Ends the connections from inside the server; returns their number. */
    const terminate = async (client: TestPgClient): Promise<number> => {
      const { rows } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${OF_LOCKS}`,
      );
      return rows.length;
    };

    const itOnLinux = process.platform === 'linux' ? it : it.skip;
    itOnLinux('F62: idle connections are tested by TCP after 30 s', async () => {
      const app = await scene.app();
      await (await app.locks.acquire(scene.key())).release();
      const times = keepAliveOfConnectionsTo(scene.server.port);
      expect(times.filter((time) => time !== undefined && time > 20_000 && time <= 30_000)).not.toEqual([]);
    });

    it('a hold outlives pg_terminate_backend, and waiters are served', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const waiting = other.locks.acquire(key, patient);
      await until('it waits', async () => (await app.admin.inspect(key))?.waiting === 1);
      for (let round = 0; round < 5; round++) {
        const renewed = next(app.locks.events, (event) => event.type === 'renewed', 30_000);
        expect(await terminate(client)).toBeGreaterThan(0);
        await renewed;
        expect(handle.isHeld).toBe(true);
      }
      expect(await handle.release()).toBe('released');
      await (await within(30_000, 'the lock', waiting)).release();
      await scene.nothingLeft();
    });

    it('a hold is kept while other clients use all connections, and locks work when those are closed', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const client = await scene.client();
      const key = scene.key();
      const handle = await app.locks.acquire(key);
      const connecting = Array.from({ length: MOST_CONNECTIONS }, () => scene.client());
      const storm = (await Promise.allSettled(connecting)).flatMap((one) =>
        one.status === 'fulfilled' ? [one.value] : [],
      );
      await terminate(client);
      // PostgreSQL reserves some connections for superusers.
      const waiting = other.locks.acquire(key, patient);
      await elapse(300);
      expect(handle.isHeld).toBe(true);
      const renewed = next(app.locks.events, (event) => event.type === 'renewed', 30_000);
      await Promise.all(storm.map((one) => one.end()));
      await renewed;
      expect(await handle.release()).toBe('released');
      await (await within(30_000, 'the lock', waiting)).release();
      await scene.nothingLeft();
    });

    it('a row locked by another client delays neither a lock released earlier nor other locks', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const [client, user] = [await scene.client(), await scene.client()];
      const [given, kept, free] = [scene.key(), scene.key(), scene.key()];
      // The hold of a process that was killed a while ago.
      await client.query(
        "INSERT INTO distributed_lock.holds VALUES ($1, 'gone:1', 1, 1, 1, 1, false, '', 1)",
        [kept],
      );
      await user.query('BEGIN');
      await user.query('SELECT FROM distributed_lock.holds WHERE key = $1 FOR UPDATE', [kept]);
      await app.locks.withLock(given, () => undefined);
      const blocked = app.locks.acquire(kept, patient);
      const beside = app.locks.acquire(free, patient);
      await (await within(15_000, 'the released lock', other.locks.acquire(given, patient))).release();
      await (await within(15_000, 'another lock', beside)).release();
      await user.query('COMMIT');
      await (await within(15_000, 'the lock', blocked)).release();
      await scene.nothingLeft();
    });

    it('a statement that is cancelled while it waits for the token sequence does not block other statements', async () => {
      const [app, other] = [await scene.app(), await scene.app()];
      const [admin, looking] = [await scene.client(), await scene.client()];
      await admin.query('BEGIN; ALTER SEQUENCE distributed_lock.tokens CACHE 1');
      const waiting = app.locks.acquire(scene.key(), patient);
      await until('its statement waits for the sequence', async () => {
        const { rows } = await looking.query(
          `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE ${OF_LOCKS} AND wait_event = 'relation'`,
        );
        return rows.length > 0;
      });
      await admin.query('ROLLBACK');
      await (await waiting).release();
      // The connection whose statement was cancelled is still open.
      await other.locks.withLock(scene.key(), { waitTime: 15_000 }, () => undefined);
      // The advisory lock of the key is held until the release is committed.
      await until('no advisory lock is held', async () => {
        const { rows } = await looking.query(
          "SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()",
        );
        return rows.length === 0;
      });
      await scene.nothingLeft();
    });
  });
});
