import { Controller, Get, Sse, type MessageEvent, type Type } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { NEVER, Observable, of, throwError } from 'rxjs';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { until, within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { HttpApps, type HttpApp } from '../nest/http-app.js';
import { Visitor } from '../nest/visitor.js';
import { KEY } from './stock.js';

/** The behaviour that client-gone.test.ts and handler-streams.test.ts test on Express. */
describe('clients of locked handlers on Fastify', () => {
  const apps = new HttpApps();
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterEach(() => apps.close());
  afterAll(() => server.close());

  const start = (controller: Type): Promise<HttpApp> =>
    apps.start(
      { imports: [DistributedLockModule.forRoot({ redis: server.url })], controllers: [controller] },
      undefined,
      new FastifyAdapter(),
    );
  const problemsIn = ({ log }: HttpApp) =>
    log.lines.filter(({ level }) => level === 'error' || level === 'warn');
  const isFree = (app: HttpApp): Promise<true> =>
    until('it is free', async () => !(await app.locks.isLocked(KEY)));

  it.each(['plain', 'events'])(
    'B33: a client that disconnects while it waits acquires no lock (%s)',
    async (path) => {
      let runs = 0;
      @Controller()
      class Things {
        @Get('plain')
        @Locked({ key: KEY, waitTime: 30_000 })
        async plain(): Promise<string> {
          runs += 1;
          return Promise.resolve('value');
        }

        @Sse('events')
        @Locked({ key: KEY, waitTime: 30_000 })
        events(): Observable<MessageEvent> {
          runs += 1;
          return NEVER;
        }
      }
      const app = await start(Things);
      await using holder = await app.locks.acquire(KEY);
      const queued = app.next('queued', KEY);
      const client = new Visitor(app.url(`/${path}`));
      await within(5_000, 'the wait', queued);
      await client.leave();
      await until('no request waits', async () => (await app.admin.inspect(KEY))?.waiting === 0);
      await holder.release();
      await app.locks.withLock(KEY, { waitTime: 2_000 }, () => undefined);
      expect(runs).toBe(0);
      expect(problemsIn(app)).toEqual([]);
    },
  );

  it('B33: the lock is kept until the work ends, even if the client has disconnected', async () => {
    const work = new Gate();
    @Controller()
    class Things {
      @Get()
      @Locked(KEY)
      async show(): Promise<string> {
        await work.pass();
        return 'value';
      }
    }
    const app = await start(Things);
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the work', work.reached);
    await client.leave();
    // The server has noticed the closed connection when it has answered another request.
    await app.get('/none');
    expect(await app.locks.isLocked(KEY)).toBe(true);
    const released = app.next('released', KEY);
    work.open();
    await within(5_000, 'the release', released);
    await isFree(app);
  });

  it('B33: a client that disconnects unsubscribes from its Observable, and the lock is released', async () => {
    const begun = new Gate();
    const stopped = new Gate();
    @Controller()
    class Things {
      @Get()
      @Locked(KEY)
      show(): Observable<string> {
        return new Observable(() => {
          void begun.pass();
          return () => void stopped.pass();
        });
      }
    }
    const app = await start(Things);
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the stream', begun.reached);
    expect(await app.locks.isLocked(KEY)).toBe(true);
    await client.leave();
    await within(5_000, 'the end of the stream', stopped.reached);
    await isFree(app);
    expect(problemsIn(app)).toEqual([]);
  });

  it('B33: server-sent events hold the lock until their client disconnects', async () => {
    const stopped = new Gate();
    @Controller()
    class Things {
      @Sse()
      @Locked(KEY)
      show(): Observable<MessageEvent> {
        return new Observable((subscriber) => {
          subscriber.next({ data: 'tick' });
          return () => void stopped.pass();
        });
      }
    }
    const app = await start(Things);
    const client = new Visitor(app.url('/'));
    await within(5_000, 'an event', client.reads('data: tick'));
    expect(await app.locks.isLocked(KEY)).toBe(true);
    await client.leave();
    await within(5_000, 'the end of the stream', stopped.reached);
    await isFree(app);
  });

  it('B33: server-sent events that end release the lock before the response is complete', async () => {
    @Controller()
    class Things {
      @Sse('good')
      @Locked(KEY)
      good(): Observable<MessageEvent> {
        return of({ data: 'only' });
      }

      @Sse('bad')
      @Locked(KEY)
      bad(): Observable<MessageEvent> {
        return throwError(() => new Error('broken'));
      }
    }
    const app = await start(Things);
    for (const [path, text] of [
      ['/good', /data: only/],
      // An error event if Nest has already started the stream, else the usual error response.
      ['/bad', /event: error|"statusCode":500/],
    ] as const) {
      const client = new Visitor(app.url(path));
      await within(5_000, 'the end', client.gone);
      expect(client.text).toMatch(text);
      expect(await app.locks.isLocked(KEY)).toBe(false);
    }
  });
});
