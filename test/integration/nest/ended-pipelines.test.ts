import {
  Controller,
  Get,
  Injectable,
  Query,
  RequestTimeoutException,
  Scope,
  UseInterceptors,
  UsePipes,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { firstValueFrom, from, of, retry, throwError, timeout, timer } from 'rxjs';
import type { Observable } from 'rxjs';
import { DistributedLockModule, Locked } from '../../../lib/index.js';
import { ExclusionWitness } from '../../support/exclusion-witness.js';
import { until, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { GatedStore } from './gated-store.js';
import { HttpApps, type HttpApp } from './http-app.js';

const LIMIT = 50;
const late = (): RequestTimeoutException => new RequestTimeoutException();

type End = (handled: Observable<unknown>) => Observable<unknown>;

const timedOut: End = (handled) => handled.pipe(timeout({ first: LIMIT, with: () => throwError(late) }));

/** How interceptors of applications end the pipeline inside them. */
const ENDINGS: Readonly<Record<string, End>> = {
  timeout: timedOut,
  'a race of promises': (handled) =>
    from(
      Promise.race([
        firstValueFrom(handled),
        firstValueFrom(timer(LIMIT)).then(() => Promise.reject(late())),
      ]),
    ),
  'timeout and retry': (handled) => timedOut(handled).pipe(retry(2)),
};

function interceptorOf(end: End): Type<NestInterceptor> {
  @Injectable()
  class Ending implements NestInterceptor {
    intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
      return end(next.handle());
    }
  }
  return Ending;
}

describe('a locked handler whose pipeline ends first', () => {
  let work: Gate | undefined;
  let runs: number;
  let inside: ExclusionWitness;

  beforeEach(() => {
    work = undefined;
    runs = 0;
    inside = new ExclusionWitness();
  });
  afterEach(() => work?.open());
  const apps = new HttpApps();

  function handlers(...decorators: MethodDecorator[]): Type {
    class Things {
      async show(): Promise<string> {
        runs += 1;
        inside.enter();
        await work?.pass();
        inside.leave();
        return 'done';
      }
    }
    const { prototype } = Things;
    const descriptor = Object.getOwnPropertyDescriptor(prototype, 'show') ?? {};
    for (const decorate of [
      Locked({ key: 'k', waitTime: 20_000 }) as MethodDecorator,
      ...decorators,
      Get(),
    ]) {
      decorate(prototype, 'show', descriptor);
    }
    Object.defineProperty(prototype, 'show', descriptor);
    Controller()(Things);
    return Things;
  }

  const parts = (controller: Type, store = new GatedStore()) => ({
    imports: [DistributedLockModule.forRoot({ store })],
    controllers: [controller],
  });
  const start = (controller: Type, store?: GatedStore): Promise<HttpApp> =>
    apps.start(parts(controller, store));

  const isFree = (app: HttpApp): Promise<true> =>
    until('the lock is free', async () => !(await app.locks.isLocked('k')));

  describe.each(Object.entries(ENDINGS))('by %s', (_, end) => {
    it('F60: leaves the queue at once, and never runs', async () => {
      const app = await start(handlers(UseInterceptors(interceptorOf(end))));
      const holder = await app.locks.acquire('k');
      expect((await app.get('/')).status).toBe(408);
      await until('no call waits', () => app.admin.waiting().length === 0);
      await holder.release();
      await isFree(app);
      expect(runs).toBe(0);
      expect(app.log.lines.filter(({ level }) => level === 'warn')).toEqual([]);
    });

    it('F60: answers at once while it works, and keeps its lock until the work ends', async () => {
      const app = await start(handlers(UseInterceptors(interceptorOf(end))));
      work = new Gate();
      expect((await within(10_000, 'the answer', app.get('/'))).status).toBe(408);
      expect(await app.locks.isLocked('k')).toBe(true);
      work.open();
      await isFree(app);
      expect({ runs, most: inside.most }).toEqual({ runs: 1, most: 1 });
    });
  });

  const limit = interceptorOf(timedOut);

  it.each([
    ['useGlobalInterceptors', undefined],
    ['APP_INTERCEPTOR', Scope.DEFAULT],
    ['a request-scoped APP_INTERCEPTOR', Scope.REQUEST],
  ])('F60: waits no longer, and keeps the lock while it works, with a time limit by %s', async (_, scope) => {
    const providers = scope === undefined ? [] : [{ provide: APP_INTERCEPTOR, scope, useClass: limit }];
    const app = await apps.start({ ...parts(handlers()), providers }, (nest) => {
      if (scope === undefined) nest.useGlobalInterceptors(new limit());
    });
    const holder = await app.locks.acquire('k');
    expect((await app.get('/')).status).toBe(408);
    await until('no call waits', () => app.admin.waiting().length === 0);
    await holder.release();
    await isFree(app);
    expect(runs).toBe(0);
    work = new Gate();
    expect((await app.get('/')).status).toBe(408);
    expect(await app.locks.isLocked('k')).toBe(true);
    work.open();
    await isFree(app);
    expect(runs).toBe(1);
  });

  it('F60: releases a grant that comes too late, without running', async () => {
    const store = new GatedStore();
    const app = await start(handlers(UseInterceptors(limit)), store);
    const answer = new Gate();
    store.afterAsk = answer;
    expect((await app.get('/')).status).toBe(408);
    store.afterAsk = undefined;
    answer.open();
    await isFree(app);
    expect(runs).toBe(0);
  });

  it('F60: is not run by a pipe that ends after the call', async () => {
    const pipe = new Gate();
    let piped: Promise<unknown> | undefined;
    @Injectable()
    class Slow {
      async transform(value: unknown): Promise<unknown> {
        piped = pipe.pass();
        await piped;
        return value;
      }
    }
    @Controller()
    class Things {
      @Get()
      @UsePipes(Slow)
      @UseInterceptors(limit)
      @Locked('k')
      async show(@Query('id') _id: string): Promise<string> {
        runs += 1;
        return Promise.resolve('done');
      }
    }
    const app = await start(Things);
    expect((await app.get('/?id=7')).status).toBe(408);
    pipe.open();
    await piped;
    expect((await app.get('/none')).status).toBe(404);
    expect({ runs, isLocked: await app.locks.isLocked('k') }).toEqual({ runs: 0, isLocked: false });
  });

  it('F60: a run that is repeated acquires the lock anew, and waits for work that still goes on', async () => {
    const attempts: string[] = [];
    const app = await start(
      handlers(
        UseInterceptors(
          interceptorOf((handled) =>
            handled.pipe(
              timeout({ first: 1_000, with: () => throwError(late) }),
              retry({ count: 1, delay: () => of(attempts.push('repeated')) }),
            ),
          ),
        ),
      ),
    );
    work = new Gate();
    const answer = app.get('/');
    await until('the handler is called again', () => attempts.length > 0);
    await until('the second run waits', () => app.admin.waiting().length === 1);
    expect(runs).toBe(1);
    work.open();
    expect(await answer).toMatchObject({ status: 200, text: 'done' });
    expect({ runs, most: inside.most }).toEqual({ runs: 2, most: 1 });
    await isFree(app);
  });
});
