import { Injectable, type Type } from '@nestjs/common';
import { Cron, Interval, ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { until } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApps, type HttpApp } from '../nest/http-app.js';
import { KEY } from './stock.js';

const EVERY_SECOND = '* * * * * *';

describe('@Locked on scheduled jobs', () => {
  /** Long jobs wait at this gate. */
  let work: Gate;
  beforeEach(() => {
    work = new Gate();
  });
  afterEach(() => work.open());
  const apps = new HttpApps();
  const scene = new RedisScene();

  /** An application with these jobs, which shares only Redis with others. */
  const start = (jobs: Type): Promise<HttpApp> =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ redis: scene.url }), ScheduleModule.forRoot()],
      providers: [jobs],
    });

  it('B30, B32, B36: with onBusy skip one of ten applications runs the job', async () => {
    const decided: string[] = [];
    let runs = 0;
    @Injectable()
    class Jobs {
      constructor(
        private readonly registry: SchedulerRegistry,
        locks: LockService,
      ) {
        locks.events.subscribe(({ type }) => {
          if (type === 'granted' || type === 'skipped') decided.push(type);
        });
      }

      @Locked({
        key(this: Jobs) {
          void this.registry.getCronJob('report').stop();
          return KEY;
        },
        waitTime: 0,
        onBusy: 'skip',
      })
      @Cron(EVERY_SECOND, { name: 'report' })
      async report(): Promise<void> {
        runs += 1;
        await work.pass();
      }
    }
    await Promise.all(Array.from({ length: 10 }, () => start(Jobs)));
    await until('all have made an attempt', () => decided.length === 10);
    expect(decided.filter((type) => type === 'granted')).toHaveLength(1);
    expect(runs).toBe(1);
  });

  it('B35: an error of the job is logged by Nest, its lock is free, and it runs again', async () => {
    let runs = 0;
    @Injectable()
    class Jobs {
      @Interval(5)
      @Locked(KEY)
      async tick(): Promise<void> {
        runs += 1;
        return runs === 1 ? Promise.reject(new Error('out of paper')) : Promise.resolve();
      }
    }
    const app = await start(Jobs);
    await until('it runs again', () => runs > 1);
    expect(app.log.matching('out of paper')).toHaveLength(1);
  });
});
