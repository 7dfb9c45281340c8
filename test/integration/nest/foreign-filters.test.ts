import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
  Query,
  type ArgumentsHost,
  type CanActivate,
  type DynamicModule,
  type ExceptionFilter,
  type MiddlewareConsumer,
  type ModuleMetadata,
  type NestInterceptor,
  type NestModule,
  type PipeTransform,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, HttpAdapterHost } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import type { Observable } from 'rxjs';
import {
  DistributedLockModule,
  Locked,
  LockError,
  LockAdmin,
  LockService,
  LockTimeoutError,
  LockUnavailableError,
} from '../../../lib/index.js';
import { ADAPTERS, HttpApps, type Answer, type HttpApp } from './http-app.js';

const KEY = 'customer:ann@example.com';

/** A typical catch-all filter: an error that is no HttpException is a 500. */
@Catch()
class CatchAll implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const status = error instanceof HttpException ? error.getStatus() : 500;
    const message = error instanceof Error ? error.message : String(error);
    const name = error instanceof Error ? error.name : typeof error;
    this.adapterHost.httpAdapter.reply(host.switchToHttp().getResponse(), { status, name, message }, status);
  }
}

const wait = (locks: LockService): Promise<unknown> => locks.acquire(KEY, { waitTime: 0 });

@Injectable()
class LockingGuard implements CanActivate {
  constructor(private readonly locks: LockService) {}
  async canActivate(): Promise<boolean> {
    await wait(this.locks);
    return true;
  }
}

@Injectable()
class LockingPipe implements PipeTransform {
  constructor(private readonly locks: LockService) {}
  async transform(value: unknown): Promise<unknown> {
    await wait(this.locks);
    return value;
  }
}

@Injectable()
class LockingInterceptor implements NestInterceptor {
  constructor(private readonly locks: LockService) {}
  async intercept(): Promise<Observable<unknown>> {
    await wait(this.locks);
    throw new Error('the lock was free');
  }
}

@Injectable()
class LockingService {
  @Locked({ key: KEY, waitTime: 0 })
  async work(): Promise<string> {
    return Promise.resolve('served');
  }
}

@Controller()
class Things {
  constructor(
    private readonly service: LockingService,
    private readonly locks: LockService,
    private readonly admin: LockAdmin,
  ) {}

  @Get('handler')
  @Locked({ key: KEY, waitTime: 0 })
  async handler(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('service')
  async inService(): Promise<string> {
    return this.service.work();
  }

  @Get('guard')
  @UseGuards(LockingGuard)
  guard(): string {
    return 'served';
  }

  @Get('pipe')
  @UsePipes(LockingPipe)
  pipe(@Query('q') q: string): string {
    return `served ${q}`;
  }

  @Get('interceptor')
  @UseInterceptors(LockingInterceptor)
  interceptor(): string {
    return 'served';
  }

  @Get('middleware')
  middleware(): string {
    return 'served';
  }

  @Get('lost')
  async lost(): Promise<void> {
    await this.locks.withLock('other', async (lock) => {
      await this.admin.forceRelease('other');
      lock.assertHeld();
    });
  }
}
const PLACES = ['handler', 'service', 'pipe', 'interceptor'];
/** Nest has no hook between these and a filter of the application. */
const OUTER_PLACES = ['guard', 'middleware'];

@Controller('filtered')
@UseFilters(CatchAll)
class FilteredThings {
  @Get()
  @Locked({ key: KEY, waitTime: 0 })
  async show(): Promise<string> {
    return Promise.resolve('served');
  }
}

@Module({ controllers: [Things, FilteredThings], providers: [LockingService] })
class ThingsModule implements NestModule {
  constructor(private readonly locks: LockService) {}

  configure(consumer: MiddlewareConsumer): void {
    consumer
      .apply((_request: unknown, _response: unknown, next: (error?: unknown) => void) => {
        wait(this.locks).then(() => next(), next);
      })
      .forRoutes('middleware');
  }
}

const catchAll = { provide: APP_FILTER, useClass: CatchAll };
@Module({ providers: [catchAll] })
class FilterModule {}

const locks = (): DynamicModule => DistributedLockModule.forRoot({ store: 'memory' });

interface Registration {
  readonly imports?: ModuleMetadata['imports'];
  readonly providers?: Provider[];
  readonly filters?: (host: HttpAdapterHost) => ExceptionFilter[];
}

const REGISTRATIONS: Readonly<Record<string, Registration>> = {
  'no filter': {},
  'app.useGlobalFilters': { filters: (host) => [new CatchAll(host)] },
  'APP_FILTER in the root': { providers: [catchAll] },
  'APP_FILTER in a module before': { imports: [FilterModule, locks(), ThingsModule] },
  'APP_FILTER in a module after': { imports: [locks(), ThingsModule, FilterModule] },
  'a filter that extends BaseExceptionFilter': {
    filters: ({ httpAdapter }) => [new LoggingFilter(httpAdapter)],
  },
  'one that calls getStatus()': { filters: (host) => [replying(host, (error) => error.getStatus?.())] },
  'one that reads status': { filters: (host) => [replying(host, (error) => error.status)] },
  'one that reads statusCode': { filters: (host) => [replying(host, (error) => error.statusCode)] },
  'one for every Error': { filters: (host) => [replying(host, (error) => error.status, Error)] },
  'one for HttpException': {
    filters: (host) => [replying(host, (error) => error.getStatus?.(), HttpException)],
  },
};

@Catch()
class LoggingFilter extends BaseExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost): void {
    super.catch(error, host);
  }
}

/** Properties that filters read from unknown errors. */
interface Unknown extends Error {
  getStatus?(): number;
  readonly status?: number;
  readonly statusCode?: number;
}

function replying(
  { httpAdapter }: HttpAdapterHost,
  statusOf: (error: Unknown) => number | undefined,
  ...types: (typeof Error | typeof HttpException)[]
): ExceptionFilter {
  @Catch(...types)
  class Replying implements ExceptionFilter<Unknown> {
    catch(error: Unknown, host: ArgumentsHost): void {
      const status = statusOf(error) ?? 500;
      const response = host.switchToHttp().getResponse<object>();
      httpAdapter.reply(response, { ...error, status, message: error.message }, status);
    }
  }
  return new Replying();
}

const whileHeld = async (app: HttpApp, path: string): Promise<Answer> => {
  await using _holder = await app.locks.acquire(KEY);
  return await app.get(path);
};
const expectNoKey = ({ text, headers }: Answer): void => {
  for (const part of [text, ...headers.values()]) expect(part).not.toContain('ann@');
};

describe.each(Object.entries(ADAPTERS))('lock errors and filters of the application, on %s', (_, adapter) => {
  const apps = new HttpApps();
  const start = ({
    imports = [locks(), ThingsModule],
    providers = [],
    filters = () => [],
  }: Registration = {}): Promise<HttpApp> =>
    apps.start(
      { imports, providers },
      (nest) => void nest.useGlobalFilters(...filters(nest.get(HttpAdapterHost))),
      adapter(),
    );

  describe.each(Object.entries(REGISTRATIONS))('%s', (registration, parts) => {
    const places = registration === 'no filter' ? [...PLACES, ...OUTER_PLACES] : PLACES;
    const loseStore = (app: HttpApp): void => {
      const away = () => Promise.reject(new LockUnavailableError(`no store for ${KEY}`, { keys: [KEY] }));
      Object.assign(app.locks, { acquire: away, withLock: away });
    };

    it(`a busy lock is a 423 and an unavailable store a 503, with Retry-After, without the key: ${places.join(', ')}`, async () => {
      const app = await start(parts);
      const expectAnswer = (place: string, answer: Answer, status: number, retryAfter: string): void => {
        const got = [place, answer.status, answer.headers.get('retry-after')];
        expect(got).toEqual([place, status, retryAfter]);
        expectNoKey(answer);
      };
      for (const place of places) expectAnswer(place, await whileHeld(app, `/${place}`), 423, '1');
      expect(app.problems).toEqual([]);
      loseStore(app);
      for (const place of places) expectAnswer(place, await app.get(`/${place}`), 503, '5');
    });

    if (registration === 'no filter') return;
    it.each(OUTER_PLACES)(
      'B41, limit: for a %s the status is right, but Retry-After is missing',
      async (place) => {
        const app = await start(parts);
        const busy = await whileHeld(app, `/${place}`);
        expect([busy.status, busy.headers.get('retry-after')]).toEqual([423, null]);
        loseStore(app);
        const unavailable = await app.get(`/${place}`);
        expect([unavailable.status, unavailable.headers.get('retry-after')]).toEqual([503, null]);
      },
    );
  });

  it.each(OUTER_PLACES)(
    'B41, limit: a filter that sends error.message reveals the key of a lock in a %s; getResponse() does not',
    async (place) => {
      const careless = await start({ filters: (host) => [new CatchAll(host)] });
      expect((await whileHeld(careless, `/${place}`)).text).toContain(KEY);
      const careful = await start({ filters: ({ httpAdapter }) => [new LoggingFilter(httpAdapter)] });
      const answer = await whileHeld(careful, `/${place}`);
      expectNoKey(answer);
      expect(answer.body).toMatchObject({ statusCode: 423, error: 'Locked', code: 'LOCK_TIMEOUT' });
    },
  );

  it('a catch-all filter on the controller gets a 423', async () => {
    const app = await start();
    const answer = await whileHeld(app, '/filtered');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([423, '1']);
    expect(answer.body).toMatchObject({ name: 'LockTimeoutError' });
    expectNoKey(answer);
  });

  it.each<[string, Type<LockError>]>([
    ['LockTimeoutError', LockTimeoutError],
    ['LockError', LockError as unknown as Type<LockError>],
  ])(
    'a filter for %s decides the reply, wherever it is registered, and finds the key in keys',
    async (_, type) => {
      const seen: LockError[] = [];
      @Catch(type)
      class Own implements ExceptionFilter<LockError> {
        constructor(private readonly adapterHost: HttpAdapterHost) {}
        catch(error: LockError, host: ArgumentsHost): void {
          seen.push(error);
          const response = host.switchToHttp().getResponse<object>();
          this.adapterHost.httpAdapter.reply(response, { own: error.code }, 418);
        }
      }
      const own = { provide: APP_FILTER, useClass: Own };
      @Module({ providers: [own] })
      class OwnModule {}
      const ways: Registration[] = [
        { providers: [own] },
        { imports: [OwnModule, locks(), ThingsModule] },
        { imports: [locks(), ThingsModule, OwnModule] },
        { filters: (host) => [new Own(host)] },
        // Global filters are asked from the last one to the first.
        {
          imports: [locks(), ThingsModule, FilterModule],
          filters: (host) => [new CatchAll(host), new Own(host)],
        },
      ];
      for (const way of ways) {
        const app = await start(way);
        for (const place of [...PLACES, ...OUTER_PLACES]) {
          const answer = await whileHeld(app, `/${place}`);
          expect([place, answer.status, answer.body]).toEqual([place, 418, { own: 'LOCK_TIMEOUT' }]);
        }
      }
      for (const error of seen) {
        expect(error).toBeInstanceOf(LockTimeoutError);
        expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', keys: [KEY] });
        // The error as it was thrown: for guards and middleware itself, else the cause.
        const thrown = (error.cause ?? error) as LockError;
        expect(thrown.message).toContain(KEY);
        expect(Object.keys(error)).toEqual(thrown === error ? expect.arrayContaining(['keys']) : []);
      }
    },
  );

  it('B41: an error that is a 500 reaches a catch-all filter without the key, too, and is logged', async () => {
    const app = await start({ filters: (host) => [new CatchAll(host)] });
    const answer = await app.get('/lost');
    expect(answer.body).toEqual({ status: 500, name: 'LockLostError', message: 'Internal server error' });
    expect(app.problems).toContainEqual(expect.stringContaining('"other"'));
  });
});
