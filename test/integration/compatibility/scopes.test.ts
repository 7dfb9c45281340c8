import { Controller, Get, Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { HttpApps, type HttpApp } from '../nest/http-app.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { BUYERS, clientOf, expectOrderlySale } from './transport.rules.js';

@Injectable({ scope: Scope.TRANSIENT })
class TransientTill {
  readonly key = KEY;

  constructor(private readonly stock: Stock) {}

  @Locked({
    key(this: TransientTill) {
      return this.key;
    },
    waitTime: 15_000,
  })
  async take(buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

@Injectable({ scope: Scope.REQUEST })
class RequestTill {
  constructor(
    private readonly stock: Stock,
    @Inject(REQUEST) private readonly request: { readonly params: { readonly buyer: string } },
  ) {}

  @Locked({ key: KEY, waitTime: 15_000 })
  async take(): Promise<Receipt> {
    return this.stock.take(this.request.params.buyer);
  }
}

@Controller()
class Orders {
  constructor(private readonly till: RequestTill) {}

  @Get(':buyer')
  async take(): Promise<Receipt> {
    return this.till.take();
  }
}

describe('@Locked on providers outside of the default scope', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();
  let app: HttpApp;
  beforeEach(async () => {
    app = await apps.start({
      imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule],
      controllers: [Orders],
      providers: [RequestTill, TransientTill],
    });
  });

  it('B30: ten request-scoped instances exclude each other, and each has its own request', () =>
    expectOrderlySale(clientOf(app), async (buyer) => (await app.get(`/${buyer}`)).body as Receipt));

  it('B30: ten transient instances exclude each other', async () => {
    const tills = await Promise.all(BUYERS.map(() => app.nest.resolve(TransientTill)));
    expect(new Set(tills).size).toBe(10);
    await expectOrderlySale(clientOf(app), (buyer) => tills[BUYERS.indexOf(buyer)]!.take(buyer));
  });
});
