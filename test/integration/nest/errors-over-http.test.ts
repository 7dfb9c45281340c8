import {
  Catch,
  Controller,
  Get,
  HttpException,
  NotFoundException,
  UseFilters,
  type ArgumentsHost,
  type ExceptionFilter,
} from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { ExternalExceptionsHandler } from '@nestjs/core/exceptions/external-exceptions-handler.js';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  Locked,
  LockError,
  LockLostError,
  LockNotHeldError,
  LockQueueFullError,
  LockTimeoutError,
  MemoryLockStore,
  type LockHttpOptions,
} from '../../../lib/index.js';
import { freePort } from '../../support/free-port.js';
import { HttpApps, type Answer, type HttpApp } from './http-app.js';

/** The part of Express's response that these tests use. */
interface Response {
  status(code: number): this;
  json(body: object): this;
  end(): this;
}

const KEY = 'customer:ann@example.com';

@Catch(LockError)
class Own implements ExceptionFilter<LockError> {
  catch(error: LockError, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(418).json({ own: error.code });
  }
}

@Controller()
class Things {
  @Get('busy')
  @Locked({ key: KEY, waitTime: 0 })
  async busy(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('other-limit')
  @Locked({ key: KEY, limit: 2 })
  async otherLimit(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('own')
  @UseFilters(Own)
  @Locked({ key: KEY, waitTime: 0 })
  async own(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('skip')
  @Locked({ key: KEY, waitTime: 0, onBusy: 'skip' })
  async skip(): Promise<string | undefined> {
    return Promise.resolve('served');
  }

  @Get('instead')
  @Locked({ key: KEY, waitTime: 0, onBusy: () => ({ state: 'in progress' }) })
  async instead(): Promise<unknown> {
    return Promise.resolve('served');
  }

  @Get('throws')
  @Locked({
    key: KEY,
    waitTime: 0,
    onBusy: () => {
      throw new NotFoundException('busy, so not found');
    },
  })
  async throws(): Promise<unknown> {
    return Promise.resolve('served');
  }

  @Get('missing')
  @Locked('missing')
  async missing(): Promise<string> {
    return Promise.reject(new NotFoundException('no such thing'));
  }

  @Get('bad-key')
  @Locked({ key: () => '' })
  async badKey(): Promise<string> {
    return Promise.resolve('served');
  }

  @Get('lost')
  async lost(): Promise<string> {
    return Promise.reject(
      new LockLostError(`The lock "${KEY}" was lost`, { keys: [KEY], reason: 'expired' }),
    );
  }

  @Get('queue-full')
  async queueFull(): Promise<string> {
    return Promise.reject(
      new LockQueueFullError(`The lock "${KEY}" has a full queue`, {
        keys: [KEY],
        waiting: 3,
        maxWaiting: 3,
      }),
    );
  }

  @Get('not-held')
  async notHeld(): Promise<string> {
    return Promise.reject(new LockNotHeldError(`The lock "${KEY}" is not held`, { keys: [KEY] }));
  }
}

describe('lock errors over HTTP', () => {
  const apps = new HttpApps();
  afterEach(() => apps.close());

  const start = (http?: LockHttpOptions | false): Promise<HttpApp> =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ store: new MemoryLockStore(), http })],
      controllers: [Things],
    });
  const whileHeld = async (app: HttpApp, path: string): Promise<Answer> => {
    const holder = await app.locks.acquire(KEY);
    try {
      return await app.get(path);
    } finally {
      await holder.release();
    }
  };
  const keepsKey = ({ text, headers }: Answer): boolean =>
    ![text, ...headers.values()].some((part) => part.includes('ann') || part.includes(KEY));

  it('B41: a held lock is a 423 with Retry-After, without the key', async () => {
    const app = await start();
    const answer = await whileHeld(app, '/busy');
    expect(answer.status).toBe(423);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(answer.body).toEqual({
      statusCode: 423,
      message: expect.stringMatching(/try again/i),
      error: 'Locked',
      code: 'LOCK_TIMEOUT',
    });
    expect(keepsKey(answer)).toBe(true);
    expect((await app.get('/busy')).text).toBe('served');
    // A busy lock is normal operation, not an error of the application.
    expect(app.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('B41: a full queue is a 429 with Retry-After, without the key', async () => {
    const app = await start();
    const answer = await app.get('/queue-full');
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(answer.body).toEqual({
      statusCode: 429,
      message: 'Too many requests wait for the resource. Try again later.',
      error: 'Too Many Requests',
      code: 'LOCK_QUEUE_FULL',
    });
    expect(keepsKey(answer)).toBe(true);
  });

  it('B41: another limit than that of the others is a 503 with Retry-After, without the key, and is logged', async () => {
    const app = await start();
    const answer = await whileHeld(app, '/other-limit');
    expect(answer.headers.get('retry-after')).toBe('5');
    expect(answer.body).toEqual({
      statusCode: 503,
      message: 'The service can not do this at the moment. Try again later.',
      error: 'Service Unavailable',
      code: 'LOCK_CONFLICT',
    });
    expect(keepsKey(answer)).toBe(true);
    const errors = app.log.lines.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ message: expect.stringContaining('was requested with limit 2') }]);
  });

  it('B41: an unreachable store is a 503 with Retry-After, without the key', async () => {
    const app = await apps.start({
      imports: [DistributedLockModule.forRoot({ redis: `redis://127.0.0.1:${await freePort()}` })],
      controllers: [Things],
    });
    for (const path of ['/busy', '/skip', '/instead']) {
      const answer = await app.get(path);
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      expect(answer.body).toEqual({
        statusCode: 503,
        message: expect.any(String),
        error: 'Service Unavailable',
        code: 'LOCK_UNAVAILABLE',
      });
      expect(keepsKey(answer)).toBe(true);
      expect(answer.text).not.toContain('127.0.0.1');
    }
  });

  it.each([
    ['/bad-key', 'LOCK_OPTIONS'],
    ['/lost', 'LOCK_LOST'],
    ['/not-held', 'LOCK_NOT_HELD'],
  ])('B41: %s is a 500 with only its code, and is logged', async (path, code) => {
    const app = await start();
    const answer = await app.get(path);
    expect(answer.body).toEqual({
      statusCode: 500,
      message: 'Internal server error',
      error: 'Internal Server Error',
      code,
    });
    expect(answer.headers.has('retry-after')).toBe(false);
    expect(keepsKey(answer)).toBe(true);
    const errors = app.log.lines.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain(path === '/bad-key' ? '@Locked on Things.badKey' : KEY);
  });

  it('B40: no method of Nest is replaced', async () => {
    const methods = (): unknown[] =>
      [ExceptionsHandler, ExternalExceptionsHandler, BaseExceptionFilter, HttpException].map(
        ({ prototype }) => Object.getOwnPropertyDescriptors(prototype),
      );
    const before = methods();
    await start();
    expect(methods()).toEqual(before);
  });

  it('B41: busyStatus changes the status of a busy lock only', async () => {
    const app = await start({ busyStatus: 409 });
    const answer = await whileHeld(app, '/busy');
    expect(answer.body).toMatchObject({ statusCode: 409, error: 'Conflict', code: 'LOCK_TIMEOUT' });
    expect(answer.headers.has('retry-after')).toBe(true);
    expect((await app.get('/bad-key')).status).toBe(500);
  });

  it('B41, B40: http: false leaves the errors to the application, which recognises them by class', async () => {
    const seen: unknown[] = [];
    @Catch()
    class All implements ExceptionFilter {
      catch(error: unknown, host: ArgumentsHost): void {
        seen.push(error);
        host.switchToHttp().getResponse<Response>().status(400).end();
      }
    }
    const parts = {
      imports: [DistributedLockModule.forRoot({ store: 'memory', http: false })],
      controllers: [Things],
    };
    const plain = await apps.start(parts);
    const answer = await whileHeld(plain, '/busy');
    expect(answer.body).toEqual({ statusCode: 500, message: 'Internal server error' });
    const errors = plain.log.lines.filter(({ level }) => level === 'error');
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(KEY) })]);

    const filtered = await apps.start(parts, (nest) => void nest.useGlobalFilters(new All()));
    expect((await whileHeld(filtered, '/busy')).status).toBe(400);
    expect(seen[0]).toBeInstanceOf(LockTimeoutError);
    expect((seen[0] as LockTimeoutError).getStatus()).toBe(500);
    expect((seen[0] as LockTimeoutError).message).toContain(KEY);
    expect(filtered.log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it("B41: a user's filter on the controller or the handler takes precedence", async () => {
    const app = await start();
    const answer = await whileHeld(app, '/own');
    expect(answer.status).toBe(418);
    expect(answer.body).toEqual({ own: 'LOCK_TIMEOUT' });
    expect((await whileHeld(app, '/busy')).status).toBe(423);
  });

  it('B41: other errors are answered as usual', async () => {
    const app = await start();
    expect((await app.get('/none')).status).toBe(404);
  });

  it('B35: a NotFoundException of the method stays a 404 with its body', async () => {
    const app = await start();
    const answer = await app.get('/missing');
    expect(answer.body).toEqual({ statusCode: 404, message: 'no such thing', error: 'Not Found' });
    expect(await app.locks.isLocked('missing')).toBe(false);
  });

  it('B36: onBusy answers the request', async () => {
    const app = await start();
    const skipped = await whileHeld(app, '/skip');
    expect([skipped.status, skipped.text]).toEqual([200, '']);
    expect((await whileHeld(app, '/instead')).body).toEqual({ state: 'in progress' });
    expect((await whileHeld(app, '/throws')).body).toMatchObject({ message: 'busy, so not found' });
    for (const path of ['/skip', '/instead', '/throws']) expect((await app.get(path)).text).toBe('served');
  });
});
