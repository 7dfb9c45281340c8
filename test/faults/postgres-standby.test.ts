import { describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { Endings } from '../support/endings.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresPair } from '../support/postgres-pair.js';
import { next, until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';

// For a synchronous standby, see postgres-cluster.test.ts.
whereThereIsPostgres('a failover of PostgreSQL', () => {
  describe('a failover of PostgreSQL', () => {
    const endings = new Endings();
    const app = async ({ url }: PostgresPair, watchdogTimeout = 30_000): Promise<LockApp> => {
      const store = postgresStore({ connection: url });
      return endings.app(await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 50 }));
    };
    const key = (): string => `key-${randomUUID()}`;

    it('logs no warning where commits wait for a standby', async () => {
      const servers = endings.until(await PostgresPair.start());
      const { log } = await app(servers);
      expect(log.matching('standbys')).toEqual([]);
    });

    it('F3: to an asynchronous standby may lose a hold: its holder is notified, and the guarded resource rejects its token', async () => {
      const servers = endings.until(await PostgresPair.start(false));
      const [holder, other] = [await app(servers, 3_000), await app(servers)];
      expect(holder.log.matching('commits wait for none of them')).toHaveLength(1);
      // A lock that both servers have.
      const name = key();
      const before = await holder.locks.withLock(name, ({ token }) => token);
      await until('the standby has it', async () => {
        const client = await servers.primary.client();
        const { rows } = await client.query(
          'SELECT replay_lsn >= pg_current_wal_lsn() AS all FROM pg_stat_replication',
        );
        await client.end();
        return rows[0]?.['all'] === true;
      });
      // From here on, nothing is replicated.
      servers.link.hold('replies');
      const handle = await holder.locks.acquire(name);
      const lost = next(holder.locks.events, (event) => event.type === 'lost', 60_000);
      servers.link.cut();
      await servers.failOver();
      const second = await other.locks.acquire(name, { waitTime: 30_000 });
      expect(second.token).toBeGreaterThan(handle.token);
      expect(handle.token).toBeGreaterThan(before);
      expect(await lost).toMatchObject({ key: name, token: handle.token });
      expect(handle.isHeld).toBe(false);
      expect(await second.release()).toBe('released');
    });
  });
});
