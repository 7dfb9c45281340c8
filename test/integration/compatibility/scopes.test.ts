import { Controller, Get, Inject, Injectable, NotFoundException, Param, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { HttpApp } from '../nest/http-app.js';
import { Around, Impatient } from './around.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { BUYERS, expectOrderlySale, pipelineRules, type PipelineClient } from './transport.rules.js';

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

/** Nest creates one instance for each request. */
@Controller({ scope: Scope.REQUEST })
class Orders {
  static made = 0;

  constructor(
    private readonly stock: Stock,
    private readonly till: RequestTill,
  ) {
    Orders.made += 1;
  }

  @Get('till/:buyer')
  async atTheTill(): Promise<Receipt> {
    return this.till.take();
  }

  @Get('take/:buyer')
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Get('hurry/:buyer')
  @Locked({ key: KEY, waitTime: 0 })
  async hurry(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Get('fail')
  @Locked(KEY)
  async fail(): Promise<never> {
    return Promise.reject(new NotFoundException('sold out'));
  }

  @Impatient()
  @Get('impatient/:buyer')
  @Locked({ key: KEY, waitTime: 15_000 })
  async impatient(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('clerk')
  @Get('above/:buyer')
  @Locked(KEY)
  async above(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @Get('below/:buyer')
  @Around('clerk')
  async below(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('guest')
  @Get('denied-above/:buyer')
  @Locked(KEY)
  async deniedAbove(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @Get('denied-below/:buyer')
  @Around('guest')
  async deniedBelow(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

describe('@Locked outside of the default scope', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const startApp = (): Promise<HttpApp> =>
    HttpApp.start({
      imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule],
      controllers: [Orders],
      providers: [RequestTill, TransientTill],
    });

  describe('on a request-scoped controller', () => {
    const start = async (): Promise<PipelineClient> => {
      const app = await startApp();
      const get = async (path: string): Promise<unknown> => (await app.get(path)).body;
      return {
        locks: app.locks,
        admin: app.admin,
        stock: app.nest.get(Stock, { strict: false }),
        take: async (buyer) => (await get(`/take/${buyer}`)) as Receipt,
        hurry: (buyer) => get(`/hurry/${buyer}`),
        fail: () => get('/fail'),
        decorated: (where, buyer) => get(`/${where}/${buyer}`),
        denied: (where) => get(`/denied-${where}/ann`),
        impatient: (buyer) => get(`/impatient/${buyer}`),
        close: () => app.close(),
      };
    };

    pipelineRules(start, {
      sold: { buyer: 'bob', left: 9, locked: true },
      busy: expect.objectContaining({ statusCode: 423, code: 'LOCK_TIMEOUT' }),
      failed: { statusCode: 404, message: 'sold out', error: 'Not Found' },
      decorated: { buyer: 'BOB', left: 9, locked: true, stamped: true },
      denied: { statusCode: 403, message: 'Forbidden resource', error: 'Forbidden' },
    });
  });

  describe('on a provider', () => {
    let app: HttpApp;
    beforeEach(async () => {
      app = await startApp();
    });
    afterEach(() => app.close());
    const sale = (take: (buyer: string) => Promise<Receipt>): Promise<void> =>
      expectOrderlySale({ locks: app.locks, stock: app.nest.get(Stock, { strict: false }) }, take);

    it('B30: ten request-scoped instances exclude each other, and each has its own request', async () => {
      const before = Orders.made;
      await sale(async (buyer) => (await app.get(`/till/${buyer}`)).body as Receipt);
      expect(Orders.made).toBe(before + 10);
    });

    it('B30: ten transient instances exclude each other', async () => {
      const tills = await Promise.all(BUYERS.map(() => app.nest.resolve(TransientTill)));
      expect(new Set(tills).size).toBe(10);
      await sale((buyer) => tills[BUYERS.indexOf(buyer)]!.take(buyer));
    });
  });
});
