import { Injectable, NotFoundException } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { until, within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApp, HttpApps } from '../nest/http-app.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { clientOf, transportRules, type Client } from './transport.rules.js';

const soldOut = new NotFoundException('sold out');

@Injectable()
class Orders {
  constructor(private readonly stock: Stock) {}

  @OnEvent('take', { suppressErrors: false })
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked({ key: KEY, waitTime: 0 })
  @OnEvent('hurry', { suppressErrors: false })
  async hurry(buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @OnEvent('fail', { suppressErrors: false })
  @OnEvent('fail.silently')
  @Locked(KEY)
  async fail(): Promise<never> {
    return Promise.reject(soldOut);
  }
}

describe('@Locked on event listeners', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();
  const parts = () => ({
    imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule, EventEmitterModule.forRoot()],
    providers: [Orders],
  });

  const start = async (): Promise<Client> => {
    const app = await HttpApp.start(parts());
    const emitter = app.nest.get(EventEmitter2);
    const emit = async (event: string, buyer: string): Promise<unknown> => {
      const [result] = (await emitter.emitAsync(event, buyer)) as unknown[];
      return result;
    };
    return {
      ...clientOf(app),
      take: async (buyer) => (await emit('take', buyer)) as Receipt,
      call: (event, buyer) => emit(event, buyer).catch((error: unknown) => error),
    };
  };

  transportRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true },
    busy: expect.any(LockTimeoutError),
    failed: soldOut,
  });

  it('B50: a listener runs in the scope of the work that emits its event, and re-enters its locks', async () => {
    const app = await apps.start(parts());
    const emitter = app.nest.get(EventEmitter2);
    const sold = await app.locks.withLock(KEY, () => emitter.emitAsync('hurry', 'ann'));
    expect(sold).toEqual([{ buyer: 'ann', left: 9, locked: true }]);
  });

  it('B53: a listener that is not awaited keeps the lock that it re-entered until it ends', async () => {
    const app = await apps.start(parts());
    const work = new Gate();
    app.nest.get(Stock, { strict: false }).slowly = work;
    await app.locks.withLock(KEY, async () => {
      app.nest.get(EventEmitter2).emit('hurry', 'ann');
      await work.reached;
    });
    expect(await app.locks.tryAcquire(KEY)).toBeNull();
    work.open();
    await until('the lock is free', async () => !(await app.locks.isLocked(KEY)));
  });

  it('B35: an error of a listener that is not awaited is logged by Nest, and the lock is free', async () => {
    const app = await apps.start(parts());
    const released = app.next('released', KEY);
    app.nest.get(EventEmitter2).emit('fail.silently', 'ann');
    await within(5_000, 'the release', released);
    await until('it is logged', () => app.log.matching('sold out').length > 0);
    expect(await app.locks.isLocked(KEY)).toBe(false);
  });
});
