import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockQueueFullError } from '../../../lib/index.js';
import { rejectionOf, until } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

const KEY = 'k';

@Controller()
class Orders {
  readonly called: string[] = [];

  @Get('module')
  @Locked(KEY)
  async byModule(): Promise<string> {
    return this.serve('module');
  }

  @Get('one')
  @Locked({ key: KEY, maxWaiting: 1 })
  async one(): Promise<string> {
    return this.serve('one');
  }

  @Locked({ key: KEY, maxWaiting: 0, onBusy: 'skip' })
  async skip(): Promise<string | undefined> {
    return this.serve('skip');
  }

  @Locked({
    key: KEY,
    maxWaiting: 0,
    onBusy: function (this: Orders) {
      this.called.push('onBusy');
      return 'something else';
    },
  })
  async instead(): Promise<string> {
    return this.serve('instead');
  }

  private async serve(name: string): Promise<string> {
    this.called.push(name);
    return Promise.resolve('served');
  }
}

describe('@Locked with maxWaiting', () => {
  const apps = new HttpApps();

  const start = (maxWaiting?: number): Promise<HttpApp> =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory', maxWaiting })],
      controllers: [Orders],
    });

  it.each(['skip', 'instead'] as const)(
    'onBusy applies to held locks, not to a full queue: %s',
    async (method) => {
      const app = await start();
      const orders = app.nest.get(Orders);
      const holder = await app.locks.acquire(KEY);
      const error = await rejectionOf(orders[method]());
      expect(error).toBeInstanceOf(LockQueueFullError);
      expect(error).toMatchObject({ keys: [KEY], waiting: 0, maxWaiting: 0 });
      expect(orders.called).toEqual([]);
      await holder.release();
      expect(await orders[method]()).toBe('served');
      expect(orders.called).toEqual([method]);
    },
  );

  it('a method overrides the value of the module', async () => {
    const app = await start(0);
    const holder = await app.locks.acquire(KEY);
    expect((await app.get('/module')).status).toBe(429);
    const waiting = app.get('/one');
    await until('a request waits', async () => (await app.admin.inspect(KEY))?.waiting === 1);
    expect((await app.get('/module')).status).toBe(429);
    await holder.release();
    expect((await waiting).text).toBe('served');
  });
});
