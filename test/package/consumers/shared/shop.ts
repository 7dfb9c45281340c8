import { Controller, Get, Inject, Injectable, Module, Param, type DynamicModule } from '@nestjs/common';
import { DistributedLockModule, LockService, Locked } from 'nestjs-distributed-lock';
import { LockDashboardModule } from 'nestjs-distributed-lock/dashboard';

/** Intentionally racy: simultaneous calls lose updates. */
class Counter {
  value = 0;

  async increment(): Promise<void> {
    const seen = this.value;
    await new Promise((resolve) => setImmediate(resolve));
    this.value = seen + 1;
  }
}

@Injectable()
export class Stock {
  readonly byDecorator = new Counter();
  readonly byService = new Counter();

  // Named, because esbuild writes no metadata about types.
  constructor(@Inject(LockService) private readonly locks: LockService) {}

  @Locked({ key: (sku: string) => `stock:${sku}`, waitTime: 10_000 })
  async take(sku: string): Promise<string> {
    await this.byDecorator.increment();
    // The same key inside its own scope: it would wait for itself if the builds did not share scopes.
    return this.locks.withLock(`stock:${sku}`, { waitTime: 0 }, () => `took ${sku}`);
  }

  async count(): Promise<void> {
    await this.locks.withLock('count', { waitTime: 10_000 }, () => this.byService.increment());
  }
}

@Controller('stock')
export class StockController {
  @Get(':sku')
  @Locked({ key: (sku: string) => `page:${sku}`, waitTime: 0 })
  async show(@Param('sku') sku: string): Promise<{ sku: string }> {
    return Promise.resolve({ sku });
  }
}

@Module({})
export class ShopModule {
  static with(redis: string): DynamicModule {
    return {
      module: ShopModule,
      imports: [DistributedLockModule.forRoot({ redis }), LockDashboardModule.forRoot({ access: 'open' })],
      providers: [Stock],
      controllers: [StockController],
    };
  }
}
