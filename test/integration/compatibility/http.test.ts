import { Controller, Get, NotFoundException, Param, Sse, type MessageEvent } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { of, type Observable } from 'rxjs';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { HttpApp } from '../nest/http-app.js';
import { Around, Impatient } from './around.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { pipelineRules, type PipelineClient } from './transport.rules.js';

@Controller()
class Orders {
  constructor(private readonly stock: Stock) {}

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

describe.each([
  ['Express', () => undefined],
  ['Fastify', () => new FastifyAdapter()],
])('@Locked on %s', (_, createAdapter) => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const start = async (): Promise<PipelineClient> => {
    const app = await HttpApp.start(
      { imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule], controllers: [Orders] },
      undefined,
      createAdapter(),
    );
    const get = async (path: string) => {
      const { status, headers, body } = await app.get(path);
      return { status, retryAfter: headers.get('retry-after'), body };
    };
    return {
      locks: app.locks,
      admin: app.admin,
      stock: app.nest.get(Stock, { strict: false }),
      take: async (buyer) => (await get(`/take/${buyer}`)).body as Receipt,
      hurry: (buyer) => get(`/hurry/${buyer}`),
      fail: () => get('/fail'),
      decorated: (where, buyer) => get(`/${where}/${buyer}`),
      denied: (where) => get(`/denied-${where}/ann`),
      impatient: (buyer) => get(`/impatient/${buyer}`),
      close: () => app.close(),
    };
  };

  pipelineRules(start, {
    sold: { status: 200, retryAfter: null, body: { buyer: 'bob', left: 9, locked: true } },
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

  it('B41: server-sent events whose lock is busy are answered with the error', async () => {
    @Controller()
    class Feed {
      @Sse('events')
      @Locked({ key: KEY, waitTime: 0 })
      events(): Observable<MessageEvent> {
        return of({ data: 'only' });
      }
    }
    const app = await HttpApp.start(
      { imports: [DistributedLockModule.forRoot({ redis: server.url })], controllers: [Feed] },
      undefined,
      createAdapter(),
    );
    try {
      await using holder = await app.locks.acquire(KEY);
      const answer = await app.get('/events');
      expect(answer.status).toBe(423);
      expect(answer.body).toMatchObject({ code: 'LOCK_TIMEOUT' });
      await holder.release();
      expect((await app.get('/events')).text).toContain('data: only');
    } finally {
      await app.close();
    }
  });
});
