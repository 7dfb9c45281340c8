import { Controller, Get, Header, Inject } from '@nestjs/common';
import { Registry } from 'prom-client';
import {
  DistributedLockModule,
  getLockAdminToken,
  getLockServiceToken,
  LockUpgradeError,
  type LockAdmin,
  type LockService,
} from '../../../lib/index.js';
import { LockPrometheusModule } from '../../../lib/prometheus/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { Scrape } from '../../support/scrape.js';
import { next, rejectionOf, until } from '../../support/until.js';
import { HttpApp } from './http-app.js';

const REGISTRY = Symbol('registry');

@Controller('metrics')
class Metrics {
  constructor(@Inject(REGISTRY) private readonly registry: Registry) {}

  @Get()
  @Header('content-type', 'text/plain')
  async scrape(): Promise<string> {
    return await this.registry.metrics();
  }
}

/** An application with Prometheus metrics for its locks, and its own Redis. */
export class MeasuredShop {
  private constructor(
    readonly redis: RedisServer,
    readonly app: HttpApp,
  ) {}

  static async open(): Promise<MeasuredShop> {
    const redis = await RedisServer.start();
    const register = new Registry();
    const app = await HttpApp.start({
      imports: [
        DistributedLockModule.forRoot({ redis: redis.url, watchdogTimeout: 3_000, shutdownTimeout: 0 }),
        DistributedLockModule.forRoot({ name: 'billing', store: 'memory', shutdownTimeout: 0 }),
        LockPrometheusModule.forRoot({ register }),
      ],
      controllers: [Metrics],
      providers: [{ provide: REGISTRY, useValue: register }],
    });
    return new MeasuredShop(redis, app);
  }

  get locks(): LockService {
    return this.app.locks;
  }

  get billing(): LockService {
    return this.app.nest.get(getLockServiceToken('billing'));
  }

  async scrape(): Promise<Scrape> {
    const { text } = await this.app.get('/metrics');
    return new Scrape(text);
  }

  /** Causes every event that has a metric: calls of every outcome, waits, losses, failing renewals. */
  async causeEveryEvent(): Promise<void> {
    const { locks, redis } = this;
    const { admin } = this.app;
    await this.billing.withLock('invoice:secret', () => undefined);
    await this.billing.acquire('invoice:secret', { operation: 'invoice' });
    await this.billing.acquire('licence:secret', { operation: 'licence', limit: 3, permits: 2 });
    const operation = 'checkout';
    await locks.withLock('order:secret', { operation, label: 'of secret' }, () => undefined);
    await locks.withLock('catalog:secret', { operation: 'catalog', mode: 'shared' }, async () => {
      const refused = await rejectionOf(locks.acquire('catalog:secret', { operation: 'catalog' }));
      if (!(refused instanceof LockUpgradeError)) throw refused;
    });
    const holder = await locks.acquire('order:secret', { operation });
    const waiting = locks.acquire('order:secret', { operation, waitTime: Infinity });
    await until('it waits', () => admin.waiting().length === 1);
    await rejectionOf(locks.acquire('order:secret', { operation, waitTime: 0 }));
    await rejectionOf(locks.acquire('order:secret', { operation, maxWaiting: 0 }));
    await locks.tryAcquire('order:secret', { operation });
    const abort = new AbortController();
    const aborted = rejectionOf(locks.acquire('order:secret', { operation, signal: abort.signal }));
    await until('it waits, too', () => admin.waiting().length === 2);
    // Abort reasons are arbitrary, and must not become series.
    abort.abort(Object.assign(new Error('of a secret'), { name: 'secret' }));
    await aborted;
    await holder.release();
    await waiting;
    const [lost, taken] = [this.locks, this.billing].map((each) =>
      next(each.events, ({ type }) => type === 'lost'),
    );
    await admin.forceRelease('order:secret');
    await this.billing.acquire('invoice:broken', { operation: 'invoice' });
    await this.app.nest.get<LockAdmin>(getLockAdminToken('billing')).forceRelease('invoice:broken');
    await Promise.all([lost, taken]);
    await locks.acquire('order:held', { operation });
    const failed = next(locks.events, ({ type }) => type === 'renewal-failed');
    await redis.kill();
    await failed;
    await rejectionOf(locks.acquire('order:other', { operation, waitTime: 50 }));
  }

  async close(): Promise<void> {
    await this.redis.restart();
    await this.app.close();
    await this.redis.close();
  }
}
