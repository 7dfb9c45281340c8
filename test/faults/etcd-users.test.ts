import { describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LockHealthIndicator } from '../../lib/health/index.js';
import { LockUnavailableError, type LockService } from '../../lib/index.js';
import { etcdStore, type EtcdStoreOptions } from '../../lib/stores/etcd/index.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { Endings } from '../support/endings.js';
import { EtcdServer } from '../support/etcd-server.js';
import {
  PASSWORD,
  addUsers,
  changeRights,
  grantToNewcomer,
  protect,
  putInForce,
  setPasswordAgain,
} from '../support/etcd-users.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { stopwatch } from '../support/stopwatch.js';
import { rejectionOf, until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';

whereThereIsEtcd('users of etcd', () => {
  describe('users of etcd', () => {
    const endings = new Endings();
    const server = async (...flags: string[]): Promise<EtcdServer> =>
      await endings.until(await EtcdServer.start({ flags })).ready();
    const shopAt = async (
      { address }: EtcdServer,
      password: EtcdStoreOptions['password'] = PASSWORD,
    ): Promise<LockApp> => {
      const store = etcdStore({ hosts: address, username: 'shop', password });
      return endings.app(await LockApp.start({ store, shutdownTimeout: 50 }));
    };
    /** A busy machine may lose its connection; only a reply of etcd counts. */
    const look = async (locks: LockService, key: string): Promise<void> => {
      await until('it is looked at', async () => {
        try {
          await locks.isLocked(key);
          return true;
        } catch (error) {
          if (!/is not connected|did not reply/.test(String(error))) throw error;
          return false;
        }
      });
    };
    /** Many callers contend for a few locks, and each is served. */
    const work = async ({ locks }: LockApp, rounds: number): Promise<void> => {
      const callers = Array.from({ length: 12 }, async (_, caller) => {
        for (let round = 0; round < rounds; round++) {
          const key = `used-${String(caller % 4)}`;
          // Also a request for one key: older versions of etcd do not check the user of a range request.
          await locks.withLock(key, { waitTime: 60_000 }, () => look(locks, key));
        }
      });
      await Promise.all(callers);
    };

    it('requests wait while a new token is being fetched, and the password is requested once for all', async () => {
      const one = await server();
      const root = await protect(one);
      let asked = 0;
      let answered = Promise.resolve();
      const shop = await shopAt(one, async () => {
        asked += 1;
        await answered;
        return PASSWORD;
      });
      const held = await shop.locks.acquire('held');
      await work(shop, 1);
      await setPasswordAgain(root, 'shop');
      const before = asked;
      let answer: () => void = () => undefined;
      answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const first = shop.locks.acquire('first', { waitTime: 60_000 });
      await until('its token is rejected', () => asked > before, { deadline: 60_000 });
      const giveUp = new AbortController();
      const givenUp = shop.locks.acquire('held', { fair: true, waitTime: 60_000, signal: giveUp.signal });
      const gaveUp = rejectionOf(givenUp);
      const others = work(shop, 2);
      const released = held.release();
      // By then their pending requests have been answered.
      const nothing = { do: 'range', key: 'nothing', serializable: false } as const;
      for (let asks = 0; asks < 20; asks++) await root.call(methods.range, nothing);
      giveUp.abort();
      answer();
      await within(30_000, 'the others', others);
      // A caller does not wait for a reply as long as this takes on a busy machine.
      expect(['released', 'unknown']).toContain(await within(30_000, 'the release', released));
      await until('the lock is free', async () => !(await shop.locks.isLocked('held')));
      expect(await gaveUp).toBe(giveUp.signal.reason);
      await (await within(30_000, 'the lock', first)).release();
      // Once for all requests, and once more if etcd has refused a new watch on the stream with the old token.
      expect([before + 1, before + 2]).toContain(asked);
      await shop.locks.withLock('held', { waitTime: 30_000 }, () => undefined);
    });

    it('callers continue while users are added and rights change, also with JWT tokens', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'lock-jwt-'));
      endings.until({ close: () => rm(folder, { recursive: true, force: true }) });
      const key = join(folder, 'key');
      await writeFile(key, 'a key that signs tokens in this test only');
      const one = await server(`--auth-token=jwt,sign-method=HS256,priv-key=${key},pub-key=${key},ttl=10m`);
      const root = await protect(one);
      const [shop, other] = [await shopAt(one), await shopAt(one)];
      await Promise.all([work(shop, 1), work(other, 1)]);
      for (const name of ['anne', 'bob', 'carol']) {
        await Promise.all([work(shop, 4), work(other, 4), grantToNewcomer(root, name)]);
      }
      // While a lock is held and waited for.
      const handle = await other.locks.acquire('waited');
      await grantToNewcomer(root, 'dave');
      const waiting = shop.locks.acquire('waited', { waitTime: 60_000 });
      await queuedIn(shop, 'waited');
      await grantToNewcomer(root, 'erin');
      // A caller does not wait for a reply as long as a new token takes on a busy machine.
      expect(['released', 'unknown']).toContain(await handle.release());
      await (await within(30_000, 'the lock', waiting)).release();
    });

    it('F57: health is down once a call has failed for a missing right, and up when it is granted again', async () => {
      const one = await server();
      const root = await protect(one);
      const shop = await shopAt(one);
      const health = async (): Promise<unknown> => {
        const limits = { unreachableFor: 0, probeTimeout: 5_000 };
        return (await new LockHealthIndicator(shop.admin).isHealthy('locks', limits)).locks;
      };
      await work(shop, 1);
      for (const rights of ['read', 'write'] as const) {
        await changeRights(root, rights);
        const failed = await rejectionOf(shop.locks.acquire('key', { waitTime: 0 }));
        expect(failed).toBeInstanceOf(LockUnavailableError);
        expect(await health()).toMatchObject({
          status: 'down',
          reachable: true,
          reasons: [expect.stringMatching(/has granted no lock for .*permission denied.*read and write/)],
        });
        await changeRights(root, 'readwrite');
        // Without a call: a process that is down receives none.
        expect(await health()).toMatchObject({ status: 'up', reasons: [] });
      }
      await work(shop, 1);
    });

    it('P11: messages wake waiters again after their token has become invalid', async () => {
      const one = await server();
      const root = await protect(one);
      const [holder, waiter] = [await shopAt(one), await shopAt(one)];
      const handOver = async (key: string): Promise<number> => {
        const handle = await holder.locks.acquire(key, { waitTime: 30_000 });
        const waiting = waiter.locks.acquire(key, { waitTime: 30_000 });
        await queuedIn(waiter, key);
        const took = stopwatch();
        await handle.release();
        const granted = await waiting;
        const ms = took();
        await granted.release();
        return ms;
      };
      await handOver('before');
      await setPasswordAgain(root, 'shop');
      await handOver('meanwhile');
      const took = [await handOver('one'), await handOver('two'), await handOver('three')];
      // The poll comes once a second.
      expect(Math.min(...took)).toBeLessThan(500);
    });

    it('callers continue while authentication is enabled', async () => {
      const one = await server();
      const root = await addUsers(one);
      const shop = await shopAt(one);
      await work(shop, 1);
      await Promise.all([work(shop, 4), putInForce(root)]);
      await work(shop, 1);
    });
  });
});
