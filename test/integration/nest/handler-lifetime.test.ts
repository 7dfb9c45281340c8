import {
  Controller,
  Get,
  Injectable,
  NotFoundException,
  Param,
  UseGuards,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { mergeMap, type Observable } from 'rxjs';
import {
  DistributedLockModule,
  LockService,
  Locked,
  type DistributedLockOptions,
} from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { rejectionOf, stateOf, within } from '../../support/until.js';
import { Gate } from './gate.js';
import { GatedStore } from './gated-store.js';
import { HttpApps, type HttpApp } from './http-app.js';

describe('the lock of a handler', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();
  const start = (
    controller: Type,
    options: DistributedLockOptions = { redis: scene.url },
  ): Promise<HttpApp> =>
    apps.start({ imports: [DistributedLockModule.forRoot(options)], controllers: [controller] });
  /** States of the lock that a second connection observed, in order. */
  let seen: string[];

  const look = async (where: string): Promise<void> => {
    seen.push(`${where}: ${(await scene.client.exists('lock:k')) === 1 ? 'held' : 'free'}`);
  };

  @Injectable()
  class Guard implements CanActivate {
    async canActivate(): Promise<boolean> {
      await look('guard');
      return true;
    }
  }

  @Injectable()
  class Pipe implements PipeTransform {
    async transform(value: string): Promise<string> {
      await look('pipe');
      return `piped-${value}`;
    }
  }

  @Injectable()
  class Inner implements NestInterceptor {
    constructor(private readonly locks: LockService) {}

    async intercept(_: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
      await look('interceptor before');
      return next.handle().pipe(
        mergeMap(async (value: unknown) => {
          await look('interceptor after');
          const inner = this.locks.current('k');
          return { value, knownInside: inner?.isHeld };
        }),
      );
    }
  }

  it('B33: is acquired after guards and pipes, kept through inner interceptors, released before the response', async () => {
    seen = [];
    @Controller()
    class Things {
      @Get(':id')
      @UseGuards(Guard)
      @UseInterceptors(Inner)
      @Locked('k')
      async show(@Param('id', Pipe) id: string): Promise<string> {
        await look('handler');
        return id;
      }
    }
    const app = await start(Things);
    const answer = await app.get('/7');
    await look('answer');
    expect(answer.body).toEqual({ value: 'piped-7', knownInside: true });
    expect(seen).toEqual([
      'guard: free',
      'interceptor before: free',
      'pipe: free',
      'handler: held',
      'interceptor after: held',
      'answer: free',
    ]);
  });

  @Controller()
  class Things {
    @Get('value')
    @Locked('k')
    async value(): Promise<string> {
      return Promise.resolve('done');
    }

    @Get('error')
    @Locked('k')
    async error(): Promise<string> {
      return Promise.reject(new NotFoundException('no such thing'));
    }

    @Get('watched')
    @Locked({ key: 'k', onLost: 'throw' })
    async watched(): Promise<string> {
      return Promise.resolve('done');
    }
  }

  it.each([
    ['a value', 'value', 200],
    ['an error', 'error', 404],
  ])(
    'B33, P22: the response of %s follows the sending of its release, and does not wait for the reply',
    async (_, path, status) => {
      const store = new GatedStore();
      const app = await start(Things, { store });
      const release = new Gate();
      store.beforeRelease = release;
      let isSent = false;
      void release.reached.then(() => (isSent = true));
      const answer = await within(5_000, 'the answer', app.get(`/${path}`));
      expect([answer.status, isSent]).toEqual([status, true]);
      release.open();
    },
  );

  it("B27, P22: with onLost 'throw' the response waits for the reply, and reports a loss that only the store has recorded", async () => {
    const store = new GatedStore();
    const app = await start(Things, { store });
    const gates = [new Gate(), new Gate()];
    for (const release of gates) {
      const isLast = release === gates.at(-1);
      store.beforeRelease = release;
      const answer = app.get('/watched');
      await within(5_000, 'the release', release.reached);
      // A later request is answered, so the first response would have arrived by now.
      expect((await app.get('/none')).status).toBe(404);
      expect(await stateOf(answer)).toBe('pending');
      if (isLast) await store.lose('k');
      release.open();
      expect((await answer).status).toBe(isLast ? 500 : 200);
    }
  });

  it('B10: is not reported as a handle whose release is missing', async () => {
    const work = new Gate();
    @Controller()
    class Slow {
      @Get()
      @Locked('k')
      async show(): Promise<string> {
        await work.pass();
        return 'done';
      }
    }
    const app = await start(Slow, { store: 'memory' });
    const answer = app.get('/');
    await work.reached;
    const refused = await rejectionOf(app.locks.acquire('k', { waitTime: 20 }));
    work.open();
    await answer;
    expect(refused).toMatchObject({
      message: expect.stringMatching(/held by another caller.* which is this process\. .*Increase waitTime/),
    });
  });
});
