import {
  Body,
  Controller,
  Get,
  Injectable,
  Post,
  UseInterceptors,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { mergeMap, type Observable } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { Gate } from './gate.js';
import { HttpApps, type HttpApp } from './http-app.js';

const inside = new ExclusionWitness();

@Injectable()
class Stock {
  value = 0;

  constructor(private readonly locks: LockService) {}

  // Intentionally racy: simultaneous calls lose updates.
  @Locked({ key: (sku: string) => `stock:${sku}`, waitTime: 0 })
  async take(sku: string, amount: number): Promise<number> {
    inside.enter();
    const seen = this.value;
    await this.locks.withLock(
      `stock:${sku}`,
      { waitTime: 0 },
      () => new Promise((next) => setImmediate(next)),
    );
    this.value = seen + amount;
    inside.leave();
    return this.value;
  }
}

@Injectable()
class Receipt implements NestInterceptor {
  constructor(private readonly stock: Stock) {}

  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      // After the handler, with the same key: it would wait for itself if it did not re-enter.
      mergeMap(async (remaining: unknown) => ({ remaining, receipt: await this.stock.take('a', 0) })),
    );
  }
}

@Controller()
class Orders {
  constructor(
    private readonly stock: Stock,
    private readonly locks: LockService,
  ) {}

  @Post('orders')
  @UseInterceptors(Receipt)
  @Locked({ key: (order: { sku: string }) => `stock:${order.sku}`, waitTime: 15_000 })
  async order(@Body() order: { sku: string }): Promise<number> {
    const token = this.locks.current()?.token;
    const remaining = await this.stock.take(order.sku, 1);
    if (this.locks.current()?.token !== token) throw new Error('re-entry has changed the token');
    return remaining;
  }

  @Get('branches')
  @Locked('branches')
  async branches(): Promise<string[]> {
    const order: string[] = [];
    const branch = (name: string): Promise<void> =>
      this.locks.withLock('branches', async () => {
        order.push(`${name} in`);
        await new Promise((next) => setImmediate(next));
        order.push(`${name} out`);
      });
    await Promise.all([branch('a'), branch('b')]);
    return order;
  }
}

describe('requests', () => {
  const apps = new HttpApps();

  const start = (): Promise<HttpApp> =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      controllers: [Orders],
      providers: [Stock],
    });

  it('B50, B51: ten at once exclude each other, while nested calls of each re-enter, interceptors included', async () => {
    const app = await start();
    inside.most = 0;
    const answers = await Promise.all(Array.from({ length: 10 }, () => app.post('/orders', { sku: 'a' })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 201));
    expect(inside.most).toBe(1);
    const remaining = answers.map(({ body }) => (body as { remaining: number }).remaining);
    expect(remaining.sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    // No other request ran between a handler and its interceptor.
    for (const { body } of answers)
      expect(body).toHaveProperty('receipt', (body as { remaining: number }).remaining);
    expect(await app.locks.isLocked('stock:a')).toBe(false);
  });

  it('B52: branches of one request exclude each other', async () => {
    const app = await start();
    expect((await app.get('/branches')).body).toEqual(['a in', 'a out', 'b in', 'b out']);
  });

  it('B53: work that outlives its request no longer owns the lock', async () => {
    const left = new Gate();
    let outcome: Promise<unknown> = Promise.resolve();
    @Controller()
    class Leaving {
      constructor(private readonly locks: LockService) {}

      @Get('leave')
      @Locked('k')
      async leave(): Promise<string> {
        outcome = left.pass().then(() => [this.locks.current('k'), this.locks.tryAcquire('k')]);
        return Promise.resolve('left');
      }
    }
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      controllers: [Leaving],
    });
    expect((await app.get('/leave')).text).toBe('left');
    const holder = await app.locks.acquire('k');
    left.open();
    const [current, tried] = (await outcome) as [unknown, Promise<unknown>];
    expect(current).toBeUndefined();
    expect(await tried).toBeNull();
    await holder.release();
  });
});
