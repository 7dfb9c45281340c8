import { Controller, Get, Sse, type MessageEvent } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { concat, defer, EMPTY, map, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { until, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { HttpApps, type HttpApp } from './http-app.js';
import { Visitor } from './visitor.js';

describe('a locked stream of a handler', () => {
  const apps = new HttpApps();
  let server: RedisServer;
  let witness: Redis;

  const isHeld = async (key: string): Promise<boolean> => (await witness.exists(`lock:${key}`)) === 1;
  const start = (parts: Parameters<HttpApps['start']>[0]): Promise<HttpApp> =>
    apps.start({ ...parts, imports: [DistributedLockModule.forRoot({ redis: server.url })] });

  beforeAll(async () => {
    server = await RedisServer.start();
    witness = server.client();
  });
  afterEach(async () => {
    await apps.close();
    await witness.flushall();
  });
  afterAll(() => server.close());

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
    const app = await start({ controllers: [Things] });
    const answer = app.get('/');
    await begun.reached;
    source.next('first');
    expect(await isHeld('k')).toBe(true);
    source.next('last');
    source.complete();
    expect((await answer).text).toBe('last');
    expect(await isHeld('k')).toBe(false);
  });

  it('B33: is unsubscribed and its lock released when the client disconnects', async () => {
    const begun = new Gate();
    const stopped = new Gate();
    @Controller()
    class Things {
      @Get()
      @Locked('k')
      show(): Observable<string> {
        return new Observable(() => {
          void begun.pass();
          return () => void stopped.pass();
        });
      }
    }
    const app = await start({ controllers: [Things] });
    const client = new Visitor(app.url('/'));
    await begun.reached;
    expect(await isHeld('k')).toBe(true);
    const released = app.next('released', 'k');
    await client.leave();
    await within(5_000, 'the end of the stream', stopped.reached);
    await within(5_000, 'the release', released);
    await until('it is free', async () => !(await isHeld('k')));
    expect(app.log.lines.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  });

  it('B33: is never subscribed if the client disconnects while the handler creates the Observable', async () => {
    const making = new Gate();
    let subscribed = false;
    @Controller()
    class Things {
      @Get()
      @Locked('k')
      async show(): Promise<Observable<string>> {
        await making.pass();
        return new Observable(() => {
          subscribed = true;
        });
      }
    }
    const app = await start({ controllers: [Things] });
    const client = new Visitor(app.url('/'));
    await making.reached;
    await client.leave();
    await app.get('/none');
    expect(await isHeld('k')).toBe(true);
    const released = app.next('released', 'k');
    making.open();
    await within(5_000, 'the release', released);
    expect(subscribed).toBe(false);
  });

  it('B33: keeps the lock until the handler ends if the client of server-sent events disconnects meanwhile', async () => {
    const preparing = new Gate();
    let subscribed = false;
    @Controller()
    class Things {
      @Sse()
      @Locked('k')
      async show(): Promise<Observable<MessageEvent>> {
        await preparing.pass();
        return new Observable(() => {
          subscribed = true;
        });
      }
    }
    const app = await start({ controllers: [Things] });
    const client = new Visitor(app.url('/'));
    await preparing.reached;
    await client.leave();
    await app.get('/none');
    expect(await isHeld('k')).toBe(true);
    const released = app.next('released', 'k');
    preparing.open();
    await within(5_000, 'the release', released);
    await until('it is free', async () => !(await isHeld('k')));
    expect(subscribed).toBe(false);
  });

  it('B33: server-sent events are locked until their client disconnects', async () => {
    let stopped = false;
    @Controller()
    class Things {
      @Sse()
      @Locked('k')
      show(): Observable<MessageEvent> {
        return new Observable((subscriber) => {
          subscriber.next({ data: 'tick' });
          return () => {
            stopped = true;
          };
        });
      }
    }
    const app = await start({ controllers: [Things] });
    const client = new Visitor(app.url('/'));
    await within(5_000, 'an event', client.reads('data: tick'));
    expect(await isHeld('k')).toBe(true);
    const released = app.next('released', 'k');
    await client.leave();
    await within(5_000, 'the release', released);
    await until('it is free', async () => !(await isHeld('k')));
    expect(stopped).toBe(true);
  });

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
    const app = await start({ controllers: [Things] });
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
    const app = await start({ controllers: [Things] });
    for (const path of ['/good', '/bad']) {
      const client = new Visitor(app.url(path));
      await within(5_000, 'the end', client.gone);
      expect(await isHeld('k')).toBe(false);
    }
  });

  it('B33, B36: a client of server-sent events that disconnects while it waits acquires no lock', async () => {
    let runs = 0;
    @Controller()
    class Things {
      @Sse()
      @Locked({ key: 'k', waitTime: 30_000 })
      show(): Observable<MessageEvent> {
        runs += 1;
        return NEVER;
      }
    }
    const app = await start({ controllers: [Things] });
    const holder = await app.locks.acquire('k');
    const queued = app.next('queued', 'k');
    const client = new Visitor(app.url('/'));
    await queued;
    await client.leave();
    await until('no request waits', async () => (await app.admin.inspect('k'))?.waiting === 0);
    await holder.release();
    expect(runs).toBe(0);
  });

  it('B36: busy server-sent events with onBusy skip end without an event', async () => {
    @Controller()
    class Things {
      @Sse()
      @Locked({ key: 'k', waitTime: 0, onBusy: 'skip' })
      show(): Observable<MessageEvent> {
        return EMPTY;
      }
    }
    const app = await start({ controllers: [Things] });
    const holder = await app.locks.acquire('k');
    const client = new Visitor(app.url('/'));
    await within(5_000, 'the end', client.gone);
    // An event without data, which clients of event streams ignore.
    expect(client.text).not.toMatch(/^(data|event):/m);
    await holder.release();
  });
});
