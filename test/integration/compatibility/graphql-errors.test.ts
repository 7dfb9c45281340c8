import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  Catch,
  Injectable,
  NotFoundException,
  UseGuards,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
} from '@nestjs/common';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, LockAdmin, Locked, LockError, LockService } from '../../../lib/index.js';
import { HttpApps, type HttpApp } from '../nest/http-app.js';

const KEY = 'customer:ann@example.com';

@Injectable()
class LockingGuard implements CanActivate {
  constructor(private readonly locks: LockService) {}
  async canActivate(): Promise<boolean> {
    await this.locks.acquire(KEY, { waitTime: 0 });
    return true;
  }
}

@Resolver()
class Things {
  constructor(
    private readonly locks: LockService,
    private readonly admin: LockAdmin,
  ) {}

  @Query(() => String)
  @Locked({ key: KEY, waitTime: 0 })
  async locked(): Promise<string> {
    return Promise.resolve('served');
  }

  @Query(() => String)
  @UseGuards(LockingGuard)
  guarded(): string {
    return 'served';
  }

  @Query(() => String)
  async lost(): Promise<string> {
    return this.locks.withLock(KEY, async (lock) => {
      await this.admin.forceRelease(KEY);
      lock.assertHeld();
      return 'served';
    });
  }
}

/** A typical catch-all filter for all transports of an application. */
@Catch()
class CatchAll implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): unknown {
    if (host.getType<string>() !== 'graphql') throw error;
    return error instanceof NotFoundException ? new Error('not found') : error;
  }
}

@Catch(LockError)
class Own implements ExceptionFilter<LockError> {
  catch(error: LockError): Error {
    return new Error(`own answer to ${error.code}`);
  }
}

describe('lock errors over GraphQL', () => {
  const apps = new HttpApps();

  const start = (...filters: ExceptionFilter[]): Promise<HttpApp> =>
    apps.start(
      {
        imports: [
          DistributedLockModule.forRoot({ store: 'memory' }),
          GraphQLModule.forRoot<ApolloDriverConfig>({
            driver: ApolloDriver,
            autoSchemaFile: true,
            graphiql: false,
            includeStacktraceInErrorResponses: true,
          }),
        ],
        providers: [Things],
      },
      (nest) => void nest.useGlobalFilters(...filters),
    );
  const ask = async (app: HttpApp, field: string) => {
    const { text } = await app.post('/graphql', { query: `{ ${field} }` });
    const { errors } = JSON.parse(text) as {
      errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[];
    };
    return { text, errors };
  };

  describe.each([
    ['no filter of the application', ['locked', 'guarded'], []],
    ['a catch-all filter', ['locked'], [new CatchAll()]],
  ])('with %s', (_, fields, filters) => {
    it.each(fields)('the error of a busy lock has its code, and not its key (%s)', async (field) => {
      const app = await start(...filters);
      await using _holder = await app.locks.acquire(KEY);
      const { text, errors } = await ask(app, field);
      expect(errors).toHaveLength(1);
      expect(errors?.[0]).toMatchObject({
        message: 'The resource is in use by another request. Try again later.',
        extensions: { code: 'LOCK_TIMEOUT' },
      });
      expect(text).not.toContain('ann@');
      expect(app.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
    });

    it('an application error has only its code', async () => {
      const app = await start(...filters);
      const { text, errors } = await ask(app, 'lost');
      expect(errors?.[0]).toMatchObject({
        message: 'Internal server error',
        extensions: { code: 'LOCK_LOST' },
      });
      expect(text).not.toContain('ann@');
    });
  });

  it('B41, limit: a catch-all filter that returns the error of a guard reveals its key', async () => {
    const app = await start(new CatchAll());
    await using _holder = await app.locks.acquire(KEY);
    expect((await ask(app, 'guarded')).errors?.[0]?.message).toContain(KEY);
  });

  it('a filter for lock errors decides the reply', async () => {
    const app = await start(new Own(), new CatchAll(), new Own());
    await using _holder = await app.locks.acquire(KEY);
    expect((await ask(app, 'locked')).errors?.[0]?.message).toBe('own answer to LOCK_TIMEOUT');
  });
});
