import { Controller, Get, HttpException, NotFoundException } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { ExceptionsHandler } from '@nestjs/core/exceptions/exceptions-handler.js';
import { ExternalExceptionsHandler } from '@nestjs/core/exceptions/external-exceptions-handler.js';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockLostError, LockNotHeldError } from '../../../lib/index.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { HttpApps, type Answer, type HttpApp } from './http-app.js';

const KEY = 'customer:ann@example.com';

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

  @Get('not-held')
  async notHeld(): Promise<string> {
    return Promise.reject(new LockNotHeldError(`The lock "${KEY}" is not held`, { keys: [KEY] }));
  }
}

describe('lock errors over HTTP', () => {
  const apps = new HttpApps();
  const start = (store = new TestLockStore()): Promise<HttpApp> =>
    apps.start({ imports: [DistributedLockModule.forRoot({ store })], controllers: [Things] });
  const whileHeld = async (app: HttpApp, path: string): Promise<Answer> => {
    await using _holder = await app.locks.acquire(KEY);
    return await app.get(path);
  };
  const expectNoKey = ({ text, headers }: Answer): void => {
    for (const part of [text, ...headers.values()]) expect(part).not.toContain('ann');
  };
  /** The body of a response, from its status line. */
  const bodyOf = (statusCode: number, error: string, code: string, message: unknown) => ({
    statusCode,
    message,
    error,
    code,
  });

  it.each(['/busy', '/skip', '/instead'])(
    'B41, B36: an unreachable store is a 503 with Retry-After, without the key: %s',
    async (path) => {
      const store = new TestLockStore();
      const app = await start(store);
      store.setUnavailable();
      const answer = await app.get(path);
      expect(answer.body).toEqual(bodyOf(503, 'Service Unavailable', 'LOCK_UNAVAILABLE', expect.any(String)));
      expect(answer.headers.get('retry-after')).toBe('5');
      expectNoKey(answer);
    },
  );

  const internal = [500, 'Internal Server Error', 'Internal server error'] as const;
  it.each<[string, string, readonly [number, string, string], string]>([
    ['/bad-key', 'LOCK_OPTIONS', internal, '@Locked on Things.badKey'],
    ['/lost', 'LOCK_LOST', internal, KEY],
    ['/not-held', 'LOCK_NOT_HELD', internal, KEY],
    [
      '/other-limit',
      'LOCK_CONFLICT',
      [503, 'Service Unavailable', 'The service can not do this at the moment. Try again later.'],
      'was requested with limit 2',
    ],
  ])(
    'B41: %s is answered with its code only, and is logged',
    async (path, code, [status, error, message], logged) => {
      const app = await start();
      const answer = await whileHeld(app, path);
      expect(answer.body).toEqual(bodyOf(status, error, code, message));
      expect(answer.headers.get('retry-after')).toBe(status === 503 ? '5' : null);
      expectNoKey(answer);
      expect(app.problems).toEqual([expect.stringContaining(logged)]);
    },
  );

  it('B40: no method of Nest is replaced', async () => {
    const methods = (): unknown[] =>
      [ExceptionsHandler, ExternalExceptionsHandler, BaseExceptionFilter, HttpException].map(
        ({ prototype }) => Object.getOwnPropertyDescriptors(prototype),
      );
    const before = methods();
    await start();
    expect(methods()).toEqual(before);
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
