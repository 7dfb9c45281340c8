import { Controller, Get, NotFoundException, Param, Scope } from '@nestjs/common';
import { describe } from '@jest/globals';
import { DistributedLockModule } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { ADAPTERS, HttpApp } from '../nest/http-app.js';
import { ordersOf, type HandlerName } from './orders.js';
import { StockModule, type Receipt } from './stock.js';
import { BUSY, CROWDED, clientOf, pipelineRules, type Client } from './transport.rules.js';

describe.each([
  ['Express', Scope.DEFAULT, ADAPTERS.Express],
  ['Express, with a request-scoped controller', Scope.REQUEST, ADAPTERS.Express],
  ['Fastify', Scope.DEFAULT, ADAPTERS.Fastify],
])('@Locked on %s', (_, scope, createAdapter) => {
  const scene = new RedisScene();
  const start = async (): Promise<Client<HandlerName>> => {
    const Orders = ordersOf({
      Handlers: Controller({ scope }),
      Handler: (name) => Get(`${name}/:buyer`),
      Buyer: Param('buyer'),
      soldOut: new NotFoundException('sold out'),
    });
    const app = await HttpApp.start(
      { imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule], controllers: [Orders] },
      undefined,
      createAdapter(),
    );
    return {
      ...clientOf(app),
      take: async (buyer) => (await app.get(`/take/${buyer}`)).body as Receipt,
      call: async (handler, buyer) => {
        const { status, headers, body } = await app.get(`/${handler}/${buyer}`);
        return { status, retryAfter: headers.get('retry-after'), body };
      },
    };
  };

  pipelineRules(start, {
    sold: { status: 200, retryAfter: null, body: { buyer: 'bob', left: 9, locked: true } },
    busy: {
      status: 423,
      retryAfter: '1',
      body: { statusCode: 423, error: 'Locked', ...BUSY },
    },
    crowded: {
      status: 429,
      retryAfter: '1',
      body: { statusCode: 429, error: 'Too Many Requests', ...CROWDED },
    },
    failed: {
      status: 404,
      retryAfter: null,
      body: { statusCode: 404, message: 'sold out', error: 'Not Found' },
    },
    decorated: {
      status: 200,
      retryAfter: null,
      body: { buyer: 'BOB', left: 9, locked: true, stamped: true },
    },
    denied: {
      status: 403,
      retryAfter: null,
      body: { statusCode: 403, message: 'Forbidden resource', error: 'Forbidden' },
    },
  });
});
