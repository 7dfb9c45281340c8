import {
  Catch,
  Controller,
  Get,
  type ArgumentsHost,
  type ExceptionFilter,
  type Provider,
} from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  getLockServiceToken,
  InjectLockAdmin,
  InjectLockService,
  Locked,
  LockTimeoutError,
  LockUnavailableError,
  type LockHttpOptions,
  type LockAdmin,
  type LockService,
} from '../../../lib/index.js';
import { HttpApps, type Answer, type HttpApp } from './http-app.js';

@Controller()
class Things {
  constructor(
    @InjectLockService('billing') private readonly billing: LockService,
    @InjectLockAdmin('billing') private readonly admin: LockAdmin,
  ) {}

  @Get('plain')
  @Locked({ key: 'k', waitTime: 0 })
  async plain(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('billing')
  @Locked({ key: 'k', waitTime: 0, instance: 'billing' })
  async inBilling(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('nested')
  @Locked('other')
  async nested(): Promise<string> {
    return this.billing.withLock('k', { waitTime: 0 }, () => 'served');
  }

  @Get('lost')
  async lost(): Promise<string> {
    return this.billing.withLock('lost', async (lock) => {
      await this.admin.forceRelease('lost');
      lock.assertHeld();
      return 'served';
    });
  }

  @Get('bad')
  async bad(): Promise<string> {
    return this.billing.withLock('', () => 'served');
  }

  @Get('bad-look')
  async badLook(): Promise<unknown> {
    return this.admin.inspect('');
  }

  @Get('bad-key')
  @Locked({ key: () => '', instance: 'billing' })
  async badKey(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('own')
  async own(): Promise<string> {
    return Promise.reject(new LockUnavailableError('made by the application'));
  }
}

describe('lock errors of several module instances over HTTP', () => {
  const apps = new HttpApps();

  type Http = LockHttpOptions | false;
  const start = (
    plain: Http,
    billing: Http,
    filters: ExceptionFilter[] = [],
    providers: Provider[] = [],
  ): Promise<HttpApp> => {
    const modules = [
      DistributedLockModule.forRoot({ store: 'memory', http: plain }),
      DistributedLockModule.forRoot({ name: 'billing', store: 'memory', http: billing }),
    ];
    return apps.start(
      { imports: modules, controllers: [Things], providers },
      (nest) => void nest.useGlobalFilters(...filters),
    );
  };
  const whileHeld = async (app: HttpApp, path: string): Promise<Answer> => {
    await using _plain = await app.locks.acquire('k');
    const billing = app.nest.get<LockService>(getLockServiceToken('billing'));
    await using _billing = await billing.acquire('k');
    return await app.get(path);
  };

  it('busyStatus of one instance does not apply to the others', async () => {
    const app = await start({ busyStatus: 409 }, { busyStatus: 429 });
    expect((await whileHeld(app, '/plain')).status).toBe(409);
    expect((await whileHeld(app, '/billing')).status).toBe(429);
    expect((await whileHeld(app, '/nested')).status).toBe(429);
    expect((await app.get('/own')).status).toBe(503);
  });

  it('http: false of one instance leaves only its own errors to the application', async () => {
    const app = await start({}, false);
    expect((await whileHeld(app, '/plain')).status).toBe(423);
    for (const path of ['/billing', '/nested', '/lost', '/bad', '/bad-look', '/bad-key']) {
      const answer = await whileHeld(app, path);
      expect([path, answer.body]).toEqual([path, { statusCode: 500, message: 'Internal server error' }]);
      expect(answer.headers.has('retry-after')).toBe(false);
    }
    expect((await app.get('/own')).status).toBe(503);
  });

  it('http: false of the unnamed instance does not affect named ones', async () => {
    const app = await start(false, {});
    expect((await whileHeld(app, '/plain')).body).toEqual({
      statusCode: 500,
      message: 'Internal server error',
    });
    expect((await whileHeld(app, '/billing')).status).toBe(423);
    expect((await app.get('/lost')).body).toMatchObject({ code: 'LOCK_LOST' });
    // Errors that the application creates are those of the instance without a name.
    const own = await app.get('/own');
    expect([own.status, own.headers.has('retry-after')]).toEqual([500, false]);
  });

  it.each(['useGlobalFilters', 'APP_FILTER'])(
    'http: false passes filters of the application the error itself (%s)',
    async (way) => {
      const seen: unknown[] = [];
      @Catch()
      class All implements ExceptionFilter {
        catch(error: unknown, host: ArgumentsHost): void {
          seen.push(error);
          const { httpAdapter } = app.nest.get(HttpAdapterHost);
          httpAdapter.reply(host.switchToHttp().getResponse(), '', 400);
        }
      }
      const global = { provide: APP_FILTER, useClass: All };
      const app = await (way === 'APP_FILTER'
        ? start({}, false, [], [global])
        : start({}, false, [new All()]));
      expect((await whileHeld(app, '/billing')).status).toBe(400);
      expect(seen[0]).toBeInstanceOf(LockTimeoutError);
      expect((seen[0] as LockTimeoutError).getStatus()).toBe(500);
      expect((seen[0] as LockTimeoutError).message).toContain('"k"');
    },
  );
});
