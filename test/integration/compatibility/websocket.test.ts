import { once } from 'node:events';
import type { Server } from 'node:http';
import {
  Catch,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
  type Type,
  type WsMessageHandler,
} from '@nestjs/common';
import {
  AbstractWsAdapter,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
  type WsResponse,
} from '@nestjs/websockets';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Observable } from 'rxjs';
import { io, type Socket } from 'socket.io-client';
import { WebSocket, WebSocketServer } from 'ws';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { until, within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApp, HttpApps } from '../nest/http-app.js';
import { Around, Impatient } from './around.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { pipelineRules, type PipelineClient } from './transport.rules.js';

@WebSocketGateway()
class Orders {
  constructor(private readonly stock: Stock) {}

  @SubscribeMessage('take')
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @SubscribeMessage('hurry')
  @Locked({ key: KEY, waitTime: 0 })
  async hurry(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @SubscribeMessage('crowd')
  @Locked({ key: KEY, maxWaiting: 0 })
  async crowd(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @SubscribeMessage('fail')
  @Locked(KEY)
  async fail(): Promise<never> {
    return Promise.reject(new WsException('sold out'));
  }

  @Impatient()
  @SubscribeMessage('impatient')
  @Locked({ key: KEY, waitTime: 15_000 })
  async impatient(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('clerk')
  @SubscribeMessage('above')
  @Locked(KEY)
  async above(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @SubscribeMessage('below')
  @Around('clerk')
  async below(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('guest')
  @SubscribeMessage('denied-above')
  @Locked(KEY)
  async deniedAbove(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @SubscribeMessage('denied-below')
  @Around('guest')
  async deniedBelow(@MessageBody() buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

/** A minimal `WsAdapter` of `@nestjs/platform-ws`. */
class PlainAdapter extends AbstractWsAdapter {
  create(): WebSocketServer {
    return new WebSocketServer({ server: this.httpServer as Server });
  }

  bindMessageHandlers(
    client: WebSocket,
    handlers: readonly WsMessageHandler[],
    toAnswers: (result: unknown) => Observable<unknown>,
  ): void {
    client.on('message', (text: Buffer) => {
      const { event, data } = JSON.parse(text.toString()) as { event: string; data: unknown };
      const handler = handlers.find(({ message }) => message === event);
      toAnswers(handler?.callback(data)).subscribe((answer) => client.send(JSON.stringify(answer)));
    });
  }
}

const connect = (app: HttpApp): Socket =>
  io(app.url('/').href, { transports: ['websocket'], forceNew: true, reconnection: false });

/** Sends a message over its own connection; resolves to the acknowledgement or the exception event. */
async function send(app: HttpApp, event: string, buyer: string): Promise<unknown> {
  const socket = connect(app);
  try {
    return await new Promise((resolve, reject) => {
      socket.on('exception', (exception: unknown) => resolve({ exception }));
      socket.on('connect_error', reject);
      socket.emit(event, buyer, resolve);
    });
  } finally {
    socket.disconnect();
  }
}

describe('@Locked on a gateway', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const start = async (): Promise<PipelineClient> => {
    const app = await HttpApp.start({
      imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule],
      providers: [Orders],
    });
    return {
      locks: app.locks,
      admin: app.admin,
      stock: app.nest.get(Stock, { strict: false }),
      take: async (buyer) => (await send(app, 'take', buyer)) as Receipt,
      hurry: (buyer) => send(app, 'hurry', buyer),
      fail: () => send(app, 'fail', 'ann'),
      decorated: (where, buyer) => send(app, where, buyer),
      denied: (where) => send(app, `denied-${where}`, 'ann'),
      impatient: (buyer) => send(app, 'impatient', buyer),
      close: () => app.close(),
    };
  };

  pipelineRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true },
    busy: {
      exception: {
        status: 'error',
        message: 'The resource is in use by another request. Try again later.',
        code: 'LOCK_TIMEOUT',
      },
    },
    failed: {
      exception: { status: 'error', message: 'sold out', cause: { pattern: 'fail', data: 'ann' } },
    },
    decorated: { buyer: 'BOB', left: 9, locked: true, stamped: true },
    denied: { exception: expect.objectContaining({ status: 'error', message: 'Forbidden resource' }) },
  });

  describe('in one application', () => {
    const apps = new HttpApps();
    const sockets: Socket[] = [];
    afterEach(async () => {
      for (const socket of sockets.splice(0)) socket.disconnect();
      await apps.close();
    });

    const open = async (gateway: Type): Promise<{ app: HttpApp; socket: Socket }> => {
      const app = await apps.start({
        imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule],
        providers: [gateway],
      });
      const socket = connect(app);
      sockets.push(socket);
      return { app, socket };
    };

    it('B41: a client receives an error when the queue is full', async () => {
      const { app } = await open(Orders);
      await using _holder = await app.locks.acquire(KEY);
      expect(await send(app, 'crowd', 'ann')).toEqual({
        exception: {
          status: 'error',
          message: 'Too many requests wait for the resource. Try again later.',
          code: 'LOCK_QUEUE_FULL',
        },
      });
    });

    it('B33: a client that disconnects while it waits leaves the queue, and the handler never runs', async () => {
      const { app, socket } = await open(Orders);
      await app.locks.withLock(KEY, async () => {
        const queued = app.next('queued', KEY);
        socket.emit('take', 'ann');
        await within(5_000, 'the wait', queued);
        socket.disconnect();
        await until('no request waits', async () => (await app.admin.inspect(KEY))?.waiting === 0);
      });
      await app.locks.withLock(KEY, { waitTime: 2_000 }, () => undefined);
      expect(app.nest.get(Stock, { strict: false }).left).toBe(10);
    });

    it('B33: a client that disconnects during the work does not end it, and the lock is kept until it ends', async () => {
      const work = new Gate();
      const gone = new Gate();
      @WebSocketGateway()
      class Slow {
        @SubscribeMessage('slow')
        @Locked(KEY)
        async slow(): Promise<string> {
          await work.pass();
          return 'done';
        }

        handleDisconnect(): void {
          void gone.pass();
        }
      }
      const { app, socket } = await open(Slow);
      socket.emit('slow');
      await within(5_000, 'the work', work.reached);
      socket.disconnect();
      await within(5_000, 'the disconnection', gone.reached);
      expect(await app.locks.isLocked(KEY)).toBe(true);
      const released = app.next('released', KEY);
      work.open();
      await within(5_000, 'the release', released);
    });

    it('B33: a stream holds the lock until its client disconnects', async () => {
      const stopped = new Gate();
      @WebSocketGateway()
      class Feed {
        @SubscribeMessage('follow')
        @Locked(KEY)
        follow(): Observable<WsResponse<string>> {
          return new Observable((subscriber) => {
            subscriber.next({ event: 'tick', data: 'first' });
            return () => void stopped.pass();
          });
        }
      }
      const { app, socket } = await open(Feed);
      const tick = new Promise((resolve) => socket.once('tick', resolve));
      socket.emit('follow');
      expect(await within(5_000, 'an event', tick)).toBe('first');
      expect(await app.locks.isLocked(KEY)).toBe(true);
      const released = app.next('released', KEY);
      socket.disconnect();
      await within(5_000, 'the end of the stream', stopped.reached);
      await within(5_000, 'the release', released);
      await until('it is free', async () => !(await app.locks.isLocked(KEY)));
    });

    it.each(['the gateway', 'the handler'])(
      "B41: a user's filter on %s receives the lock error itself, first",
      async (where) => {
        const caught: unknown[] = [];
        @Catch()
        class Own implements ExceptionFilter {
          catch(error: unknown, host: ArgumentsHost): void {
            caught.push(error);
            host.switchToWs().getClient<Socket>().emit('exception', { own: true });
          }
        }
        const [onGateway, onHandler] = where === 'the gateway' ? [[Own], []] : [[], [Own]];
        @WebSocketGateway()
        @UseFilters(...onGateway)
        class Filtered {
          @SubscribeMessage('hurry')
          @UseFilters(...onHandler)
          @Locked({ key: KEY, waitTime: 0 })
          async hurry(): Promise<string> {
            return Promise.resolve('never');
          }
        }
        const { app } = await open(Filtered);
        const reply = await app.locks.withLock(KEY, () => send(app, 'hurry', 'ann'));
        expect(reply).toEqual({ exception: { own: true } });
        expect(caught).toEqual([expect.any(LockTimeoutError)]);
      },
    );

    it('B41: a filter of other errors does not affect lock errors, and two applications share a gateway', async () => {
      @Catch(WsException)
      class Other implements ExceptionFilter {
        catch(): void {}
      }
      @WebSocketGateway()
      @UseFilters(Other)
      class Filtered {
        @SubscribeMessage('hurry')
        @Locked({ key: KEY, waitTime: 0 })
        async hurry(): Promise<string> {
          return Promise.resolve('never');
        }
      }
      for (const { app } of [await open(Filtered), await open(Filtered)]) {
        const reply = await app.locks.withLock(KEY, () => send(app, 'hurry', 'ann'));
        expect(reply).toMatchObject({ exception: { status: 'error', code: 'LOCK_TIMEOUT' } });
      }
    });

    it('B41: a client of plain WebSocket receives the same error, as a message', async () => {
      const app = await HttpApp.start(
        {
          imports: [DistributedLockModule.forRoot({ redis: server.url }), StockModule],
          providers: [Orders],
        },
        (nest) => nest.useWebSocketAdapter(new PlainAdapter(nest)),
      );
      const client = new WebSocket(app.url('/').href.replace('http', 'ws'));
      try {
        await once(client, 'open');
        await using _holder = await app.locks.acquire(KEY);
        const answered = once(client, 'message');
        client.send(JSON.stringify({ event: 'hurry', data: 'ann' }));
        const [answer] = (await within(5_000, 'the answer', answered)) as [Buffer];
        expect(JSON.parse(answer.toString())).toEqual({
          event: 'exception',
          data: {
            status: 'error',
            message: 'The resource is in use by another request. Try again later.',
            code: 'LOCK_TIMEOUT',
          },
        });
      } finally {
        client.terminate();
        await app.close();
      }
    });

    it('B41: with http: false the error is left to Nest', async () => {
      @WebSocketGateway()
      class Plain {
        @SubscribeMessage('hurry')
        @Locked({ key: KEY, waitTime: 0 })
        async hurry(): Promise<string> {
          return Promise.resolve('never');
        }
      }
      const app = await apps.start({
        imports: [DistributedLockModule.forRoot({ redis: server.url, http: false })],
        providers: [Plain],
      });
      const reply = await app.locks.withLock(KEY, () => send(app, 'hurry', 'ann'));
      expect(reply).toMatchObject({ exception: { message: 'Internal server error' } });
    });
  });
});
