import { describe, expect, it } from '@jest/globals';
import type { LockStore } from '../../lib/stores/port/index.js';
import { examineLocks } from '../../lib/cli/commands/doctor.command.js';
import { etcdStore, type EtcdStoreOptions } from '../../lib/stores/etcd/index.js';
import { methods } from '../../lib/stores/etcd/connection/protocol.js';
import { Endings } from '../support/endings.js';
import { compaction, EtcdServer, type EtcdServerOptions } from '../support/etcd-server.js';
import { addUsers, PASSWORD, PREFIX, protect, putInForce, ROOT } from '../support/etcd-users.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is.js';
import { startRules } from './rules/start.rules.js';

whereThereIsEtcd('the start with etcd', () => {
  describe('the start with etcd', () => {
    const endings = new Endings();
    const server = async (options: EtcdServerOptions = {}): Promise<EtcdServer> =>
      await endings.until(await EtcdServer.start(options)).ready();
    const app = async (options: EtcdStoreOptions): Promise<LockApp> =>
      endings.app(await LockApp.start({ store: etcdStore(options), shutdownTimeout: 50 }));

    startRules({
      endings,
      version: /\(etcd 3\.\d+\.\d+\)/,
      plain: async () => etcdStore({ hosts: (await server()).address }),
      async secure() {
        const { ca, address } = await server({ tls: true });
        return {
          trusting: [
            etcdStore({ hosts: `https://${address}`, tls: { ca } }),
            etcdStore({ hosts: address, tls: { ca, serverName: 'localhost' } }),
          ],
          distrustful: [`https://${address}`, `http://${address}`].map((hosts) => etcdStore({ hosts })),
        };
      },
      async guarded() {
        const one = await server();
        await protect(one);
        const as = (username: string, password: string): LockStore =>
          etcdStore({ hosts: one.address, username, password });
        return {
          welcome: [as('shop', PASSWORD)],
          refused: [
            [as('guest', PASSWORD), new RegExp(`readwrite "${PREFIX}" --prefix=true`)],
            [as('shop', `${PASSWORD}-but-wrong`), /password/],
            [etcdStore({ hosts: one.address }), /user/],
          ],
          secret: PASSWORD,
        };
      },
      async apart() {
        const { address: hosts } = await server();
        return [etcdStore({ hosts }), etcdStore({ hosts, keyPrefix: 'other/' })];
      },
      nowhere: (port) => etcdStore({ hosts: `127.0.0.1:${String(port)}` }),
    });

    it('warns about versions with known defects, and about no others', async () => {
      const { address } = await server();
      const { log } = await app({ hosts: address });
      const [, , minor = 0, patch = 0] = (
        /\(etcd (3)\.(\d+)\.(\d+)/.exec(log.matching('(etcd').join()) ?? []
      ).map(Number);
      const isFaulty = minor < 5 || (minor === 5 && patch < 18);
      const warnings = log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
      expect(warnings).toEqual(
        isFaulty ? [expect.stringMatching(/faults that concern locks, fixed in 3\.5\.18/)] : [],
      );
    });

    it('warns about a history that is never compacted, with minimal rights, and not about a compacted one', async () => {
      const one = await server();
      const client = await addUsers(one);
      const change = { do: 'put', key: `${PREFIX}changed`, value: 'x', lease: 0 } as const;
      const changes = { do: 'txn', if: [], then: [change], else: [] } as const;
      let revision = 0;
      while (revision < 20_100) {
        const answers = Array.from({ length: 500 }, () => client.call(methods.transaction, changes));
        for (const answer of await Promise.all(answers)) revision = Math.max(revision, answer.revision);
      }
      await putInForce(client);
      const warned = async (): Promise<readonly string[]> => {
        const { log, locks } = await app({ hosts: one.address, username: 'shop', password: PASSWORD });
        await locks.withLock('used', () => undefined);
        return log.matching('history');
      };
      expect(await warned()).toEqual([
        expect.stringMatching(/never compacted .* --auto-compaction-mode=periodic/),
      ]);
      const store = etcdStore({ hosts: one.address, username: 'shop', password: PASSWORD });
      const { findings } = await examineLocks({ store }, false);
      expect(findings.filter(({ text }) => text.includes('never compacted'))).toMatchObject([
        { level: 'warning', check: 'store' },
      ]);
      await client.authenticate(ROOT);
      await client.call(compaction, revision - 10);
      expect(await warned()).toEqual([]);
    });

    it('authenticates, and does so again when its token has expired', async () => {
      const one = await server({ flags: ['--auth-token-ttl=1'] });
      await protect(one);
      let asked = 0;
      const password = (): string => {
        asked += 1;
        return PASSWORD;
      };
      const shop = await app({ hosts: one.address, username: 'shop', password });
      const other = await app({ hosts: one.address, username: 'shop', password: PASSWORD });
      await shop.locks.withLock('used', () => undefined);
      const before = asked;
      // A token expires when it is unused for so long.
      const hasExpired = async (): Promise<boolean> => {
        await shop.locks.withLock('used', { waitTime: 15_000 }, () => undefined);
        return asked > before;
      };
      await until('it authenticates again', hasExpired, { every: 2_500, deadline: 60_000 });
      const handle = await other.locks.acquire('waited', { waitTime: 15_000 });
      const waiting = shop.locks.acquire('waited', { waitTime: 15_000 });
      await queuedIn(shop, 'waited');
      await handle.release();
      await (await within(10_000, 'the lock', waiting)).release();
    });
  });
});
