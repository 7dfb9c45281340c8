import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aclRules } from '../../../lib/stores/redis/doctor/acl-rules.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf, until } from '../../support/until.js';
import { OpsPages, type OpsPage } from './ops-page.js';

const used = { cluster: false, sharded: false, replicas: false, database: false };

describe('O20: the lock dashboard with restricted rights in Redis', () => {
  const pages = new OpsPages();
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.start();
  });
  afterEach(async () => {
    await pages.close();
    const client = redis.client();
    await client.call('ACL', 'LOG', 'RESET');
    await client.flushall();
  });
  afterAll(() => redis.close());

  /** Two processes whose Redis user has these rules. */
  const start = async (rules: readonly string[]): Promise<[OpsPage, OpsPage]> => {
    const url = await redis.addUser('few', 'secret', rules);
    const one = (): Promise<OpsPage> =>
      pages.start({
        locks: { redis: url, shutdownTimeout: 0 },
        dashboard: { access: 'open', allowBreak: true, hosts: ['127.0.0.1'] },
      });
    return [await one(), await one()];
  };
  const refused = async (): Promise<string[]> => {
    const entries = (await redis.client().call('ACL', 'LOG')) as unknown[][];
    return entries.map((entry) => String(entry[entry.indexOf('object') + 1]));
  };

  it('works completely with the documented rules', async () => {
    const [page, other] = await start(aclRules({ prefix: 'lock:' }, { ...used, operations: true }));
    const hold = await other.app.locks.acquire('a');
    await page.overview();
    await until(
      'the other process publishes',
      async () => {
        await other.overview();
        const { processes, notes } = await page.overview();
        expect(notes).toEqual([]);
        return processes.length === 2 && processes.some(({ held }) => held.length === 1);
      },
      { every: 100, deadline: 30_000 },
    );
    expect((await page.list()).locks).toMatchObject([{ key: 'a' }]);
    expect(await page.lock('a')).toMatchObject({ holders: [{ token: hold.token }] });
    expect((await page.break({ key: 'a', instance: null, token: hold.token })).status).toBe(200);
    expect(await hold.release()).toBe('expired');
    expect(await refused()).toEqual([]);
  });

  it('reports the missing right with the rules of locks alone, and no lock is affected', async () => {
    const [page, other] = await start(aclRules({ prefix: 'lock:' }, used));
    await other.overview();
    await page.app.locks.acquire('mine');
    // Snapshots are read only if there are any.
    const { notes, processes } = await until(
      'a process has published',
      async () => {
        const overview = await page.overview();
        return overview.notes.length > 0 && overview;
      },
      { every: 100, deadline: 30_000 },
    );
    const where = `the user "few" of Redis at 127.0.0.1:${redis.port}`;
    expect(notes).toEqual([
      `The state of other processes can't be read: ${where} may not use MGET, so that nothing is shown of other processes; ` +
        'locks do not need it. To allow it: ACL SETUSER few +mget. Only this process is shown.',
    ]);
    expect(processes).toMatchObject([{ held: [{ key: 'mine' }], status: { store: { reachable: true } } }]);

    const { status, body } = await page.get('?data=list');
    expect(status).toBe(503);
    expect(body).toMatchObject({
      message:
        `list(): the store refused to list its locks: ${where} may not use SCAN, so that held locks can't be ` +
        'listed; locks do not need it. To allow it: ACL SETUSER few +scan.',
    });

    // Everything else works.
    const hold = await other.app.locks.acquire('a');
    expect(await page.lock('a')).toMatchObject({ holders: [{ token: hold.token }] });
    expect((await page.break({ key: 'a', instance: null, token: hold.token })).status).toBe(200);
    expect(await hold.release()).toBe('expired');
    for (const { app } of [page, other]) expect(app.log.matching(/can't be acquired|may not/)).toEqual([]);
    expect(page.app.admin.status()).toMatchObject({ recentLosses: 0, store: { reachable: true } });
    expect([...new Set(await refused())].sort()).toEqual(['mget', 'scan']);
  });

  it('rejects a listing with an error about the right, without an unavailable event', async () => {
    const [page] = await start(aclRules({ prefix: 'lock:' }, used));
    const { locks, admin } = page.app;
    const events: string[] = [];
    locks.events.subscribe(({ type }) => events.push(type));
    const error = await rejectionOf(admin.list());
    expect(error).toMatchObject({
      code: 'LOCK_UNAVAILABLE',
      keys: [],
      message: expect.stringContaining('+scan'),
    });
    await locks.withLock('a', () => undefined);
    expect(events).not.toContain('unavailable');
    expect(page.app.log.matching("Locks can't be acquired")).toEqual([]);
  });
});
