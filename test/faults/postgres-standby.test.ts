import { afterEach, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockTimeoutError, LockUnavailableError } from '../../lib/index.js';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer } from '../support/postgres-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { next, rejectionOf, until } from '../support/until.js';
import { whereThereIsPostgres } from '../support/where-there-is-postgres.js';

/** A primary, a standby that follows it by a network of its own, and the address that applications know. */
interface Pair {
  readonly primary: PostgresServer;
  readonly standby: PostgresServer;
  /** From the standby to the primary. */
  readonly link: TcpProxy;
  /** Leads to whichever is the primary. */
  readonly address: TcpProxy;
}

whereThereIsPostgres('a failover of PostgreSQL', () => {
  describe('a failover of PostgreSQL', () => {
    const ends: (() => Promise<unknown>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });
    const ended = <T extends { close(): Promise<unknown> }>(one: T): T => {
      ends.push(() => one.close());
      return one;
    };

    const pair = async (isSynchronous: boolean): Promise<Pair> => {
      const primary = ended(await PostgresServer.startWithSchema());
      const link = ended(await TcpProxy.before(primary.port));
      const standby = ended(await PostgresServer.standbyOf(link.port));
      const client = await primary.client();
      if (isSynchronous) {
        await client.query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'");
        await client.query('SELECT pg_reload_conf()');
      }
      await until('it follows', async () => {
        const { rows } = await client.query('SELECT state, sync_state FROM pg_stat_replication');
        const [one] = rows;
        return one?.['state'] === 'streaming' && (one['sync_state'] === 'async') !== isSynchronous;
      });
      return { primary, standby, link, address: ended(await TcpProxy.before(primary.port)) };
    };
    const app = async ({ address }: Pair, watchdogTimeout = 30_000): Promise<LockApp> => {
      const store = postgresStore({
        connection: `postgres://postgres@127.0.0.1:${String(address.port)}/postgres`,
      });
      return ended(await LockApp.start({ store, watchdogTimeout, shutdownTimeout: 50 }));
    };
    /** The primary is gone with its machine, and the standby takes its place and its address. */
    const failOver = async ({ primary, standby, address }: Pair): Promise<void> => {
      await primary.destroy();
      await standby.promote();
      address.lead(standby.port);
    };
    const key = (): string => `key-${randomUUID()}`;

    it('to a synchronous standby keeps every hold and every place, and tokens grow', async () => {
      const servers = await pair(true);
      const [holder, waiter, other] = [await app(servers), await app(servers), await app(servers)];
      expect(holder.log.matching('standbys')).toEqual([]);
      const name = key();
      const handle = await holder.locks.acquire(name);
      const more = await Promise.all(Array.from({ length: 50 }, () => other.locks.acquire(key())));
      const waiting = waiter.locks.acquire(name, { waitTime: 60_000 });
      await until('it waits', async () => (await other.locks.inspect(name))?.waiting === 1);
      const renewed = next(holder.locks.events, (event) => event.type === 'renewed', 60_000);
      await failOver(servers);
      await renewed;
      expect(handle.isHeld).toBe(true);
      const refused = await rejectionOf(other.locks.acquire(name, { waitTime: 2_000 }));
      expect([LockTimeoutError, LockUnavailableError]).toContain((refused as Error).constructor);
      expect(await handle.release()).toBe('released');
      const second = await waiting;
      expect(second.token).toBeGreaterThan(handle.token);
      await second.release();
      for (const hold of more) expect(await hold.release()).toBe('released');
    });

    it('a lock is unavailable rather than given when the synchronous standby can not be reached', async () => {
      const servers = await pair(true);
      const holder = await app(servers);
      await holder.locks.withLock(key(), () => undefined);
      const letGo = servers.link.hold('replies');
      expect(await rejectionOf(holder.locks.acquire(key(), { waitTime: 1_000 }))).toBeInstanceOf(
        LockUnavailableError,
      );
      letGo();
      await holder.locks.withLock(key(), { waitTime: 30_000 }, () => undefined);
    });

    it('F3: to another standby may lose a hold: its holder is told, and its token is refused by what it guards', async () => {
      const servers = await pair(false);
      const [holder, other] = [await app(servers, 3_000), await app(servers)];
      expect(holder.log.matching('commits wait for none of them')).toHaveLength(1);
      // Known to both.
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
      // Nothing comes through from here on.
      servers.link.hold('replies');
      const handle = await holder.locks.acquire(name);
      const lost = next(holder.locks.events, (event) => event.type === 'lost', 60_000);
      servers.link.cut();
      await failOver(servers);
      const second = await other.locks.acquire(name, { waitTime: 30_000 });
      expect(second.token).toBeGreaterThan(handle.token);
      expect(handle.token).toBeGreaterThan(before);
      expect(await lost).toMatchObject({ key: name, token: handle.token });
      expect(handle.isHeld).toBe(false);
      expect(await second.release()).toBe('released');
    });
  });
});
