import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { aclRules } from '../../../lib/stores/redis/doctor/acl-rules.js';
import { RedisServer } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { OpsPages } from './ops-page.js';

/** Fewer rights are tested in test/browser. */
describe('O20: the lock dashboard with restricted rights in Redis', () => {
  const pages = new OpsPages();
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.start();
  });
  afterEach(() => pages.close());
  afterAll(() => redis.close());

  it('works completely with the documented rules', async () => {
    const used = { cluster: false, sharded: false, replicas: false, database: false, operations: true };
    const url = await redis.addUser('few', 'secret', aclRules({ prefix: 'lock:' }, used));
    const setting = {
      locks: { redis: url, shutdownTimeout: 0 },
      dashboard: { access: 'open', allowBreak: true, hosts: ['127.0.0.1'] },
    } as const;
    const [page, other] = [await pages.start(setting), await pages.start(setting)];
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
    expect(await redis.client().call('ACL', 'LOG')).toEqual([]);
  });
});
