import { afterEach, describe, expect, it } from '@jest/globals';
import { LockUnavailableError } from '../../lib/index.js';
import type { Endpoint } from '../../lib/stores/etcd/connection/endpoint.js';
import { etcdStore } from '../../lib/stores/etcd/index.js';
import type { Method } from '../../lib/stores/etcd/protocol/methods.js';
import { MessageWriter } from '../../lib/stores/etcd/protocol/wire.js';
import { EtcdServer } from '../support/etcd-server.js';
import { freePort } from '../support/free-port.js';
import { LockApp, queuedIn } from '../support/lock-app.js';
import { rejectionOf, until, within } from '../support/until.js';
import { whereThereIsEtcd } from '../support/where-there-is-etcd.js';

const PREFIX = 'distributed-lock/';
const READ_AND_WRITE = 2;

/** A method of etcd's that locks don't need. */
const admin = (path: string): Method<MessageWriter, undefined> => ({
  path: `/etcdserverpb.Auth/${path}`,
  encode: (message) => message.finish(),
  decode: () => undefined,
});

async function addUser(client: Endpoint, name: string, password: string, role: string): Promise<void> {
  await client.call(admin('UserAdd'), new MessageWriter().string(1, name).string(2, password));
  await client.call(admin('UserGrantRole'), new MessageWriter().string(1, name).string(2, role));
}

/** From now on nobody does anything without a password. */
async function protect(server: EtcdServer): Promise<void> {
  const client = server.client();
  await client.open(10_000);
  for (const role of ['root', 'locks', 'nothing']) {
    await client.call(admin('RoleAdd'), new MessageWriter().string(1, role));
  }
  const writer = new MessageWriter().string(1, 'locks');
  writer.message(2, () => {
    writer
      .int(1, READ_AND_WRITE)
      .string(2, PREFIX)
      .string(3, `${PREFIX.slice(0, -1)}0`);
  });
  await client.call(admin('RoleGrantPermission'), writer);
  await addUser(client, 'root', 'of-root', 'root');
  await addUser(client, 'shop', 's3cr3t', 'locks');
  await addUser(client, 'guest', 's3cr3t', 'nothing');
  await client.call(admin('AuthEnable'), new MessageWriter());
}

whereThereIsEtcd('the start with etcd', () => {
  describe('the start with etcd', () => {
    const apps: LockApp[] = [];
    const servers: EtcdServer[] = [];
    const server = async (options: Parameters<typeof EtcdServer.start>[0] = {}): Promise<EtcdServer> => {
      const one = await EtcdServer.start(options);
      servers.push(one);
      return await one.ready();
    };
    const app = async (options: Parameters<typeof etcdStore>[0]): Promise<LockApp> => {
      const one = await LockApp.start({ store: etcdStore(options), shutdownTimeout: 50 });
      apps.push(one);
      return one;
    };
    const use = async (one: LockApp): Promise<void> => {
      const handle = await one.locks.acquire('used', { waitTime: 15_000 });
      expect(await one.locks.isLocked('used')).toBe(true);
      expect(await handle.release()).toBe('released');
    };
    afterEach(async () => {
      await Promise.all(apps.splice(0).map((one) => one.close()));
      await Promise.all(servers.splice(0).map((one) => one.close()));
    });

    it('tells the version, and what is known to be wrong with it', async () => {
      const { address } = await server();
      const one = await app({ hosts: address });
      const lines = one.log.matching('etcd').join('\n');
      expect(lines).toMatch(/etcd 3\.\d+\.\d+/);
      if (lines.includes('etcd 3.4.'))
        expect(lines).toMatch(/faults that concern locks and are mended in 3\.5\.18/);
    });

    it('uses TLS, and trusts nobody whom it was not told to trust', async () => {
      const secure = await server({ tls: true });
      const { ca, address } = secure;
      await use(await app({ hosts: `https://${address}`, tls: { ca } }));
      await use(await app({ hosts: address, tls: { ca, serverName: 'localhost' } }));
      for (const options of [{ hosts: `https://${address}` }, { hosts: `http://${address}` }]) {
        const one = await app(options);
        const error = await rejectionOf(one.locks.acquire('used', { waitTime: 200 }));
        expect(error).toBeInstanceOf(LockUnavailableError);
      }
    });

    it('shows who it is, and does so again when its token is over', async () => {
      const one = await server({ flags: ['--auth-token-ttl=1'] });
      await protect(one);
      let asked = 0;
      const password = (): string => {
        asked += 1;
        return 's3cr3t';
      };
      const shop = await app({ hosts: one.address, username: 'shop', password });
      const other = await app({ hosts: one.address, username: 'shop', password: 's3cr3t' });
      await use(shop);
      const before = asked;
      // A token that nobody uses for so long is over.
      const isOver = async (): Promise<boolean> => {
        await use(shop);
        return asked > before;
      };
      await until('it shows its password once more', isOver, { every: 2_500, deadline: 60_000 });
      const handle = await other.locks.acquire('waited', { waitTime: 15_000 });
      const waiting = shop.locks.acquire('waited', { waitTime: 15_000 });
      await queuedIn(shop, 'waited');
      await handle.release();
      await (await within(10_000, 'the lock', waiting)).release();
    });

    it('F9: tells which rights a user lacks, and that a password is wrong, without the password', async () => {
      const one = await server();
      await protect(one);
      const guest = await app({ hosts: one.address, username: 'guest', password: 's3cr3t' });
      const lines = guest.log.matching('etcd').join('\n');
      expect(lines).toContain(`readwrite "${PREFIX}" --prefix=true`);
      const wrong = await app({ hosts: one.address, username: 'shop', password: 's3cr3t-but-wrong' });
      const nobody = await app({ hosts: one.address });
      for (const each of [guest, wrong, nobody]) {
        const error = await rejectionOf(each.locks.acquire('used', { waitTime: 300 }));
        expect(error).toBeInstanceOf(LockUnavailableError);
        expect(String(error)).not.toContain('s3cr3t');
        expect(each.log.matching('s3cr3t')).toEqual([]);
      }
    });

    it('B14: no timer outlives an application that is still trying to connect', async () => {
      const timers = (): number =>
        process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
      const before = timers();
      const one = await app({ hosts: `127.0.0.1:${await freePort()}` });
      const error = await rejectionOf(one.locks.acquire('key', { waitTime: 300 }));
      expect(error).toBeInstanceOf(LockUnavailableError);
      await one.close();
      expect(timers()).toBeLessThanOrEqual(before);
    });

    it('keeps locks of different prefixes apart', async () => {
      const { address } = await server();
      const [one, other] = [
        await app({ hosts: address }),
        await app({ hosts: address, keyPrefix: 'other/' }),
      ];
      const handle = await one.locks.acquire('used');
      await use(other);
      expect(handle.isHeld).toBe(true);
      await until('it is given back', async () => (await handle.release()) !== 'unknown');
    });
  });
});
