import { Injectable } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  DistributedLockModule,
  Locked,
  LockConflictError,
  LockAdmin,
  LockUpgradeError,
} from '../../../lib/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf, until, within } from '../../support/until.js';

/** Blocks work until the test opens it. */
class Workshop {
  readonly witness = new ExclusionWitness();
  private proceed: () => void = () => undefined;
  private readonly open = new Promise<void>((resolve) => {
    this.proceed = resolve;
  });

  async work(): Promise<void> {
    this.witness.enter();
    await this.open;
    this.witness.leave();
  }

  close(): void {
    this.proceed();
  }
}

@Injectable()
class Maps {
  workshop = new Workshop();

  @Locked({ key: (region: string) => `map:${region}`, mode: 'shared', label: 'render' })
  async render(_region: string): Promise<void> {
    await this.workshop.work();
  }

  @Locked({ key: (region: string) => `map:${region}`, waitTime: 10_000, label: 'update' })
  async update(region: string): Promise<string> {
    return Promise.resolve(region);
  }

  @Locked({ key: 'carrier', limit: 2, waitTime: 0, onBusy: () => 'all lines are busy' })
  async book(): Promise<string> {
    await this.workshop.work();
    return 'booked';
  }

  @Locked({ key: 'carrier', limit: 3 })
  async bookOtherwise(): Promise<string> {
    return Promise.resolve('never');
  }

  @Locked({ key: 'map:north', mode: 'shared' })
  async renderAndUpdate(): Promise<string> {
    return await this.update('north');
  }
}

describe('@Locked with read locks and semaphores', () => {
  let server: RedisServer;
  let apps: TestingModule[] = [];

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });
  afterAll(() => server.close());

  /** Two processes with one workshop. */
  async function start(): Promise<[Maps, Maps, LockAdmin]> {
    const workshop = new Workshop();
    const imports = [DistributedLockModule.forRoot({ redis: server.url, shutdownTimeout: 100 })];
    apps = await Promise.all(
      [1, 2].map(() => Test.createTestingModule({ imports, providers: [Maps] }).compile()),
    );
    const maps = await Promise.all(
      apps.map(async (app) => {
        await app.init();
        const instance = app.get(Maps);
        instance.workshop = workshop;
        return instance;
      }),
    );
    const [first, second] = maps;
    const admin = apps[0]?.get(LockAdmin);
    if (first === undefined || second === undefined || admin === undefined)
      throw new Error('no applications');
    return [first, second, admin];
  }

  it('B38, P25: readers of several processes run together, and a writer runs alone', async () => {
    const [first, second, admin] = await start();
    const readers = [first, second, first].map((maps) => maps.render('north'));
    await until('all readers are inside', () => first.workshop.witness.most === 3);
    const writer = second.update('north');
    await until('the writer waits', async () => (await admin.inspect('map:north'))?.waiting === 1);
    expect(await admin.inspect('map:north')).toMatchObject({
      mode: 'shared',
      limit: Infinity,
      // One read lock for each process, which its readers use together.
      holders: [{ label: 'render' }, { label: 'render' }],
      waiters: [{ mode: 'exclusive', label: 'update' }],
    });
    first.workshop.close();
    await Promise.all(readers);
    expect(await within(10_000, 'the writer', writer)).toBe('north');
  });

  it('B36, B38: a full semaphore is busy, and a call with another limit is rejected', async () => {
    const [first, second] = await start();
    const booked = [first.book(), second.book()];
    await until('both are inside', () => first.workshop.witness.most === 2);
    expect(await first.book()).toBe('all lines are busy');
    const error = await rejectionOf(second.bookOtherwise());
    expect(error).toBeInstanceOf(LockConflictError);
    expect((error as Error).message).toMatch(
      /requested with limit 3, but is held or waited for with limit 2/,
    );
    first.workshop.close();
    expect(await Promise.all(booked)).toEqual(['booked', 'booked']);
  });

  it('B55: a method that needs an exclusive lock inside a read lock of its caller is rejected at once', async () => {
    const [first] = await start();
    expect(await rejectionOf(first.renderAndUpdate())).toBeInstanceOf(LockUpgradeError);
  });
});
