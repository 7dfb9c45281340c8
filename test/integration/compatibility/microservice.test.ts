import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, Param, type INestMicroservice, type Type } from '@nestjs/common';
import {
  ClientProxyFactory,
  MessagePattern,
  Payload,
  RpcException,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { defer, lastValueFrom, Subject, toArray, type Observable } from 'rxjs';
import {
  DistributedLockModule,
  LockAdmin,
  Locked,
  LockService,
  type RedisModuleOptions,
} from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { LogRecorder } from '../../support/lock-app.js';
import { within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApps, type HttpApp } from '../nest/http-app.js';
import { ordersOf, type HandlerName } from './orders.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import {
  BUSY,
  BUYERS,
  CROWDED,
  clientOf,
  expectOrderlySale,
  pipelineRules,
  type Client,
} from './transport.rules.js';

const Orders = ordersOf({
  Handlers: Controller(),
  Handler: (name) => MessagePattern(name),
  Buyer: Payload(),
  soldOut: new RpcException('sold out'),
});

@Controller()
class Web {
  constructor(private readonly stock: Stock) {}

  @Get('take/:buyer')
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(@Param('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

/** The reply or the error that a caller receives. */
const replyTo = (client: ClientProxy, pattern: string, buyer: string): Promise<unknown> =>
  lastValueFrom(client.send<unknown>(pattern, buyer)).catch((error: unknown) => ({ error }));

describe('@Locked on message handlers over TCP', () => {
  const scene = new RedisScene();

  const callerOf = (service: INestMicroservice): ClientProxy => {
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    return ClientProxyFactory.create({ transport: Transport.TCP, options: { host: '127.0.0.1', port } });
  };
  const listenOnLoopback = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;

  const startService = async (controller: Type, options: Pick<RedisModuleOptions, 'rpc'> = {}) => {
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ redis: scene.url, ...options }), StockModule],
      controllers: [controller],
    })
      .setLogger(new LogRecorder())
      .compile();
    const service = module.createNestMicroservice<MicroserviceOptions>(listenOnLoopback);
    await service.listen();
    const client = callerOf(service);
    return {
      service,
      client,
      locks: module.get(LockService),
      admin: module.get(LockAdmin),
      close: async () => {
        client.close();
        await service.close();
      },
    };
  };

  const start = async (): Promise<Client<HandlerName>> => {
    const { service, client, ...others } = await startService(Orders, { rpc: { showKeys: false } });
    return {
      ...others,
      stock: service.get(Stock, { strict: false }),
      take: (buyer) => lastValueFrom(client.send<Receipt>('take', buyer)),
      call: (handler, buyer) => replyTo(client, handler, buyer),
    };
  };

  pipelineRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true },
    busy: { error: { status: 'error', ...BUSY } },
    crowded: { error: { status: 'error', ...CROWDED } },
    failed: { error: { status: 'error', message: 'sold out' } },
    decorated: { buyer: 'BOB', left: 9, locked: true, stamped: true },
    denied: { error: { status: 'error', message: 'Forbidden resource' } },
  });

  it('B41: callers receive the key and the whole message, unless rpc.showKeys is false', async () => {
    const { client, locks, close } = await startService(Orders);
    try {
      expect(await locks.withLock(KEY, () => replyTo(client, 'hurry', 'ann'))).toEqual({
        error: {
          status: 'error',
          message: expect.stringContaining(`"${KEY}" is held by another caller`),
          code: 'LOCK_TIMEOUT',
          keys: [KEY],
        },
      });
    } finally {
      await close();
    }
  });

  it('B33: a handler that returns a stream holds the lock until the stream ends', async () => {
    const source = new Subject<string>();
    const begun = new Gate();
    @Controller()
    class Feed {
      @MessagePattern('follow')
      @Locked(KEY)
      follow(): Observable<string> {
        return defer(() => {
          void begun.pass();
          return source;
        });
      }
    }
    const { client, locks, close } = await startService(Feed);
    try {
      const values = lastValueFrom(client.send<string>('follow', '').pipe(toArray()));
      await within(5_000, 'the subscription', begun.reached);
      source.next('first');
      expect(await locks.isLocked(KEY)).toBe(true);
      source.next('second');
      source.complete();
      expect(await within(5_000, 'the end of the stream', values)).toEqual(['first', 'second']);
      expect(await locks.isLocked(KEY)).toBe(false);
    } finally {
      await close();
    }
  });

  describe('of an application with HTTP', () => {
    const clients: ClientProxy[] = [];
    afterEach(() => {
      for (const client of clients.splice(0)) client.close();
    });
    const apps = new HttpApps();

    const startHybrid = async (inheritAppConfig: boolean): Promise<{ app: HttpApp; client: ClientProxy }> => {
      let service: INestMicroservice | undefined;
      const parts = {
        imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule],
        controllers: [Orders, Web],
      };
      const app = await apps.start(parts, (nest) => {
        service = nest.connectMicroservice<MicroserviceOptions>(listenOnLoopback, { inheritAppConfig });
      });
      await app.nest.startAllMicroservices();
      const client = callerOf(service!);
      clients.push(client);
      return { app, client };
    };

    it.each([true, false])(
      'B30: requests and messages exclude each other, with inheritAppConfig %s',
      async (inheritAppConfig) => {
        const { app, client } = await startHybrid(inheritAppConfig);
        await expectOrderlySale(clientOf(app), async (buyer) =>
          BUYERS.indexOf(buyer) % 2 === 0
            ? ((await app.get(`/take/${buyer}`)).body as Receipt)
            : await lastValueFrom(client.send<Receipt>('take', buyer)),
        );
      },
    );

    it('B41: callers receive the error of a busy lock with inheritAppConfig, which inherits global filters', async () => {
      const { app, client } = await startHybrid(true);
      expect(await app.locks.withLock(KEY, () => replyTo(client, 'hurry', 'ann'))).toMatchObject({
        error: { status: 'error', code: 'LOCK_TIMEOUT', keys: [KEY] },
      });
    });
  });
});
