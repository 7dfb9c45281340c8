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
import { afterEach, describe, expect, it } from '@jest/globals';
import { Observable } from 'rxjs';
import { io, type Socket } from 'socket.io-client';
import { WebSocket, WebSocketServer } from 'ws';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { until, within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApp, HttpApps } from '../nest/http-app.js';
import { ordersOf, type HandlerName } from './orders.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { BUSY, CROWDED, clientOf, pipelineRules, type Client } from './transport.rules.js';

const gateway = (): Type =>
  ordersOf({
    Handlers: WebSocketGateway(),
    Handler: (name) => SubscribeMessage(name),
    Buyer: MessageBody(),
    soldOut: new WsException('sold out'),
  });
const Orders = gateway();

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
  const scene = new RedisScene();
  const start = async (): Promise<Client<HandlerName>> => {
    const app = await HttpApp.start({
      imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule],
      providers: [Orders],
    });
    return {
      ...clientOf(app),
      take: async (buyer) => (await send(app, 'take', buyer)) as Receipt,
      call: (handler, buyer) => send(app, handler, buyer),
    };
  };

  pipelineRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true },
    busy: { exception: { status: 'error', ...BUSY } },
    crowded: { exception: { status: 'error', ...CROWDED } },
    failed: {
      exception: { status: 'error', message: 'sold out', cause: { pattern: 'fail', data: 'ann' } },
    },
    decorated: { buyer: 'BOB', left: 9, locked: true, stamped: true },
    denied: { exception: expect.objectContaining({ status: 'error', message: 'Forbidden resource' }) },
  });

  describe('in one application', () => {
    const sockets: Socket[] = [];
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.disconnect();
    });
    const apps = new HttpApps();

    const open = async (gateway: Type): Promise<{ app: HttpApp; socket: Socket }> => {
      const app = await apps.start({
        imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule],
        providers: [gateway],
      });
      const socket = connect(app);
      sockets.push(socket);
      return { app, socket };
    };

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
      const Filtered = gateway();
      UseFilters(Other)(Filtered);
      for (const { app } of [await open(Filtered), await open(Filtered)]) {
        const reply = await app.locks.withLock(KEY, () => send(app, 'hurry', 'ann'));
        expect(reply).toMatchObject({ exception: { status: 'error', code: 'LOCK_TIMEOUT' } });
      }
    });

    it('B41: a client of plain WebSocket receives the same error, as a message', async () => {
      const app = await apps.start(
        {
          imports: [DistributedLockModule.forRoot({ redis: scene.url }), StockModule],
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
          data: { status: 'error', ...BUSY },
        });
      } finally {
        client.terminate();
      }
    });

    it('B41: with http: false the error is left to Nest', async () => {
      const app = await apps.start({
        imports: [DistributedLockModule.forRoot({ redis: scene.url, http: false }), StockModule],
        providers: [gateway()],
      });
      const reply = await app.locks.withLock(KEY, () => send(app, 'hurry', 'ann'));
      expect(reply).toMatchObject({ exception: { message: 'Internal server error' } });
    });
  });
});
