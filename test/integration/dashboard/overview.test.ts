import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { LockDashboardModule } from '../../../lib/dashboard/index.js';
import { DistributedLockModule, LockAdmin, type DistributedLockOptions } from '../../../lib/index.js';
import { sourcesOf } from '../../../lib/api/lock-admin.js';
import { CommandMonitor } from '../../support/command-monitor.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { until } from '../../support/until.js';
import { GatedStore } from '../nest/gated-store.js';
import { OpsPages } from './ops-page.js';

describe('O20: the overview of the lock dashboard', () => {
  const pages = new OpsPages();
  const workers: TestingModule[] = [];
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    await pages.close();
    await Promise.all(workers.splice(0).map((worker) => worker.close()));
    const client = server.client();
    await client.flushall();
  });
  afterAll(() => server.close());

  const redis = (): DistributedLockOptions => ({ redis: server.url, shutdownTimeout: 0 });

  /** A process without a page. */
  const worker = async (): Promise<LockAdmin> => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot(redis()), LockDashboardModule.forRoot({ page: false })],
    })
      .setLogger(new LogRecorder())
      .compile();
    workers.push(module);
    await module.init();
    return module.get(LockAdmin);
  };

  it('without visitors, other processes only check for visitors now and then, and write nothing', async () => {
    const written: string[] = [];
    const page = await pages.start({ locks: redis() });
    const watching = await CommandMonitor.of(server, ({ args }) => {
      if (args.some((word) => word.includes('@:board'))) written.push((args[0] ?? '').toLowerCase());
    });
    await worker();
    await until('it has checked', () => written.includes('exists'));
    expect(new Set(written)).toEqual(new Set(['exists']));
    // After a visit, everything that was written expires.
    await page.overview();
    await worker();
    await until('it has published', () => written.includes('zadd'));
    const client = server.client();
    const names = (await client.keys('*')).filter((name) => name.includes('@:board'));
    expect(names.length).toBeGreaterThanOrEqual(3);
    for (const name of names) expect(await client.pttl(name)).toBeGreaterThan(0);
    watching.close();
  });

  it('is composed once for simultaneous visitors', async () => {
    const page = await pages.start({ locks: redis() });
    let reads = 0;
    const watching = await CommandMonitor.of(server, ({ args }) => {
      if (args[0]?.toLowerCase() === 'zrange' && args[1]?.includes('@:board') === true) reads += 1;
    });
    const overviews = await Promise.all(Array.from({ length: 10 }, () => page.overview()));
    expect(new Set(overviews.map(({ now }) => now)).size).toBe(1);
    expect(reads).toBe(1);
    watching.close();
  });

  it('shows only this process, with a note, if the store does not share snapshots', async () => {
    const page = await pages.start({ locks: { store: new GatedStore(), shutdownTimeout: 0 } });
    const hold = await page.app.locks.acquire('a');
    const { processes, notes } = await page.overview();
    expect(processes).toMatchObject([{ held: [{ key: 'a', token: hold.token }] }]);
    expect(notes).toEqual([
      expect.stringContaining('memory behind gates does not let processes publish their state'),
    ]);
    const { status, text } = await page.get('?data=list');
    expect(status).toBe(501);
    expect(text).toContain('this store cannot list its locks');
  });

  it('continues while the store is unreachable, with a note', async () => {
    const away = await RedisServer.start();
    const page = await pages.start({ locks: { redis: away.url, shutdownTimeout: 0 } });
    await page.overview();
    await away.close();
    const { notes, processes } = await until(
      'it is reported',
      async () => {
        const overview = await page.overview();
        return overview.notes.length > 0 && overview;
      },
      { every: 100, deadline: 30_000 },
    );
    expect(notes[0]).toContain("The state of other processes can't be read");
    expect(processes).toHaveLength(1);
    expect((await page.get('?data=lock&key=a')).status).toBe(503);
  });

  it('separates module instances', async () => {
    const page = await pages.start({
      locks: redis(),
      parts: { imports: [DistributedLockModule.forRoot({ name: 'billing', store: 'memory' })] },
    });
    const { processes } = await page.overview();
    expect(processes.map(({ instance }) => instance).sort()).toEqual(['billing', null]);
  });

  it('omits a process that has shut down', async () => {
    const page = await pages.start({ locks: redis() });
    await page.overview(); // the first visit
    const ended = await worker();
    const { clientId } = ended.status();
    const { board } = sourcesOf(await worker());
    const isPublished = async (): Promise<boolean> =>
      (await board?.read())?.some((text) => text.includes(clientId)) === true;
    await until('it is published', isPublished);
    await workers.shift()?.close();
    expect(await isPublished()).toBe(false);
  });

  it('stops its requests when the application shuts down', async () => {
    const admin = await worker();
    await workers.pop()?.close();
    await expect(sourcesOf(admin).board?.isWatched()).rejects.toThrow();
  });
});
