import { describe, expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { Registry } from 'prom-client';
import { DistributedLockModule } from '../../lib/index.js';
import { LockPrometheusModule } from '../../lib/prometheus/index.js';
import { RedisServer } from '../support/redis-server.js';
import { Scrape } from '../support/scrape.js';
import { until } from '../support/until.js';

describe('metrics of an idle process', () => {
  it('O10: report that the store has stopped, and that it is back', async () => {
    const server = await RedisServer.start();
    const register = new Registry();
    const app = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ redis: server.url, watchdogTimeout: 3_000 }),
        LockPrometheusModule.forRoot({ register }),
      ],
    }).compile();
    await app.init();
    const reachable = async (): Promise<number | undefined> =>
      new Scrape(await register.metrics()).value('distributed_lock_store_reachable');
    try {
      expect(await reachable()).toBe(1);
      server.stop();
      await until('it is reported', async () => (await reachable()) === 0);
      server.resume();
      await until('it is back', async () => (await reachable()) === 1);
    } finally {
      server.resume();
      await app.close();
      await server.close();
    }
  });
});
