import { Controller, Get, Sse, type MessageEvent, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { concat, defer, EMPTY, map, Observable, of, Subject, throwError } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { until, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { ADAPTERS, HttpApps, type HttpApp } from './http-app.js';
import { Visitor } from './visitor.js';

describe.each(Object.entries(ADAPTERS))('a locked stream of a handler on %s', (_, adapter) => {
  const apps = new HttpApps();
  const start = (controller: Type): Promise<HttpApp> =>
    apps.start(
      { imports: [DistributedLockModule.forRoot({ store: 'memory' })], controllers: [controller] },
      undefined,
      adapter(),
    );
  const isFree = (app: HttpApp): Promise<true> =>
    until('it is free', async () => !(await app.locks.isLocked('k')));

  it('B33: is locked until the Observable of the response completes', async () => {
    const source = new Subject<string>();
    const begun = new Gate();
    @Controller()
    class Things {
      @Get()
      @Locked('k')
      show(): Observable<string> {
        return defer(() => {
          void begun.pass();
          return source;
        });
      }
    }
    const app = await start(Things);
    const answer = app.get('/');
    await begun.reached;
    source.next('first');
    expect(await app.locks.isLocked('k')).toBe(true);
    source.next('last');
    source.complete();
    expect((await answer).text).toBe('last');
    expect(await app.locks.isLocked('k')).toBe(false);
  });

  it.each(['get', 'sse'])('B33: ends with its lock when the client disconnects (%s)', async (path) => {
    const begun = new Gate();
    const stopped = new Gate();
    const source = new Observable<MessageEvent>((subscriber) => {
      subscriber.next({ data: 'tick' });
      void begun.pass();
      return () => void stopped.pass();
    });
    @Controller()
    class Things {
      @Get('get')
      @Locked('k')
      get(): Observable<MessageEvent> {
        return source;
      }

      @Sse('sse')
      @Locked('k')
      sse(): Observable<MessageEvent> {
        return source;
      }
    }
    const app = await start(Things);
    const client = new Visitor(app.url(`/${path}`));
    await within(5_000, 'the stream', path === 'sse' ? client.reads('data: tick') : begun.reached);
    expect(await app.locks.isLocked('k')).toBe(true);
    await client.leave();
    await within(5_000, 'the end of the stream', stopped.reached);
    await isFree(app);
    expect(app.problems).toEqual([]);
  });

  it.each(['get', 'sse'])(
    'B33: is never subscribed if the client disconnects while the handler creates it, under its lock (%s)',
    async (path) => {
      const making = new Gate();
      let subscribed = false;
      const source = new Observable<MessageEvent>(() => {
        subscribed = true;
      });
      @Controller()
      class Things {
        @Get('get')
        @Locked('k')
        async get(): Promise<Observable<MessageEvent>> {
          await making.pass();
          return source;
        }

        @Sse('sse')
        @Locked('k')
        async sse(): Promise<Observable<MessageEvent>> {
          await making.pass();
          return source;
        }
      }
      const app = await start(Things);
      const client = new Visitor(app.url(`/${path}`));
      await within(5_000, 'the handler', making.reached);
      await client.leave();
      await app.get('/none');
      expect(await app.locks.isLocked('k')).toBe(true);
      making.open();
      await isFree(app);
      expect(subscribed).toBe(false);
    },
  );

  it('B41: no error of server-sent events contains the key', async () => {
    @Controller()
    class Things {
      constructor(private readonly locks: LockService) {}

      @Sse('locked')
      @Locked('secret:1')
      locked(): Observable<MessageEvent> {
        return this.events();
      }

      @Sse('plain')
      plain(): Observable<MessageEvent> {
        return this.events();
      }

      private events(): Observable<MessageEvent> {
        const fails = defer(() => this.locks.acquire('secret:2', { waitTime: 0 }));
        return concat(of({ data: 'first' }), fails.pipe(map(({ token }) => ({ data: String(token) }))));
      }
    }
    const app = await start(Things);
    await using _other = await app.locks.acquire('secret:2');
    for (const path of ['/locked', '/plain']) {
      const client = new Visitor(app.url(path));
      await within(5_000, 'the end', client.gone);
      expect(client.text).toContain('data: first');
      expect(client.text).toContain('The resource is in use by another request. Try again later.');
      expect(client.text).not.toContain('secret');
    }
  });

  it('B33: server-sent events that end release the lock before the response is complete', async () => {
    @Controller()
    class Things {
      @Sse('good')
      @Locked('k')
      good(): Observable<MessageEvent> {
        return of({ data: 'only' });
      }

      @Sse('bad')
      @Locked('k')
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
      expect(await app.locks.isLocked('k')).toBe(false);
    }
  });

  it('B36, B41: busy server-sent events are answered with the error; with onBusy skip they end without an event', async () => {
    @Controller()
    class Things {
      @Sse()
      @Locked({ key: 'k', waitTime: 0, onBusy: 'skip' })
      show(): Observable<MessageEvent> {
        return EMPTY;
      }

      @Sse('refused')
      @Locked({ key: 'k', waitTime: 0 })
      refused(): Observable<MessageEvent> {
        return EMPTY;
      }
    }
    const app = await start(Things);
    await using _holder = await app.locks.acquire('k');
    expect(await app.get('/refused')).toMatchObject({ status: 423, body: { code: 'LOCK_TIMEOUT' } });
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the end', client.gone);
    // An event without data, which clients of event streams ignore.
    expect(client.text).not.toMatch(/^(data|event):/m);
  });
});
