import { Body, Controller, NotFoundException, Post } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { HttpApp } from '../nest/http-app.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { transportRules, type Client } from './transport.rules.js';

interface Order {
  readonly buyer: string;
}

@Controller()
class Orders {
  constructor(private readonly stock: Stock) {}

  @Post('take')
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(@Body() { buyer }: Order): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Post('hurry')
  @Locked({ key: KEY, waitTime: 0 })
  async hurry(@Body() { buyer }: Order): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Post('fail')
  @Locked(KEY)
  async fail(): Promise<never> {
    return Promise.reject(new NotFoundException('sold out'));
  }
}

describe.each([
  ['Express', () => undefined],
  ['Fastify', () => new FastifyAdapter()],
])('@Locked on %s', (_, createAdapter) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const start = async (): Promise<Client> => {
    const app = await HttpApp.start(
      { imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule], controllers: [Orders] },
      undefined,
      createAdapter(),
    );
    const post = async (path: string, buyer: string) => {
      const { status, headers, body } = await app.post(path, { buyer });
      return { status, retryAfter: headers.get('retry-after'), body };
    };
    return {
      locks: app.locks,
      stock: app.nest.get(Stock, { strict: false }),
      take: async (buyer) => (await post('/take', buyer)).body as Receipt,
      hurry: (buyer) => post('/hurry', buyer),
      fail: () => post('/fail', 'ann'),
      close: () => app.close(),
    };
  };

  transportRules(start, {
    sold: { status: 201, retryAfter: null, body: { buyer: 'bob', left: 9, locked: true } },
    busy: {
      status: 423,
      retryAfter: '1',
      body: { statusCode: 423, message: expect.any(String), error: 'Locked', code: 'LOCK_TIMEOUT' },
    },
    failed: {
      status: 404,
      retryAfter: null,
      body: { statusCode: 404, message: 'sold out', error: 'Not Found' },
    },
  });
});
