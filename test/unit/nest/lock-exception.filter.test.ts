import { describe, expect, it, jest } from '@jest/globals';
import { HttpException, Logger, type ArgumentsHost } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { EMPTY, lastValueFrom } from 'rxjs';
import {
  LockClosedError,
  LockConflictError,
  LockLostError,
  LockNotHeldError,
  LockOptionsError,
  LockQueueFullError,
  LockTimeoutError,
  LockUnavailableError,
  LockUnsupportedError,
  LockUpgradeError,
} from '../../../lib/index.js';

import { answerErrorsOf, originate } from '../../../lib/model/lock.errors.js';
import { GatewayFilter, LockExceptionFilter } from '../../../lib/nest/requests/lock-exception.filter.js';

const timeout = (): LockTimeoutError =>
  new LockTimeoutError('The lock "k" is held by another caller, and waitTime is 0.', {
    keys: ['k'],
    waitedFor: 0,
  });
const error = timeout();
const filterOf = (showKeys: boolean): LockExceptionFilter => {
  const origin = {};
  answerErrorsOf([origin], { http: { busyStatus: 423, busyReason: 'Locked' }, rpc: { showKeys } });
  return new LockExceptionFilter(() => origin, new HttpAdapterHost());
};
const filter = filterOf(false);
const gatewayFilter = new GatewayFilter();

function hostOf(type: string, client?: object): ArgumentsHost {
  const host = { getType: () => type, switchToWs: () => ({ getClient: () => client }) };
  // Only the methods that the filter uses.
  return host as unknown as ArgumentsHost;
}

/** The reply that a remote caller receives. */
const answerTo = (lockError: LockTimeoutError, by: LockExceptionFilter): Promise<unknown> =>
  lastValueFrom(by.catch(lockError, hostOf('rpc')) ?? EMPTY);

const remote = {
  status: 'error',
  message: 'The resource is in use by another request. Try again later.',
  code: 'LOCK_TIMEOUT',
};

describe('B41: outside of HTTP', () => {
  it('an RPC caller receives the error in Nest’s transport form', async () => {
    await expect(answerTo(error, filter)).rejects.toEqual(remote);
  });

  it('an RPC caller receives the key and the whole message with rpc.showKeys', async () => {
    const { message, keys } = error;
    await expect(answerTo(timeout(), filterOf(true))).rejects.toEqual({ ...remote, message, keys });
  });

  it('an error that a client can’t resolve is logged, and hidden from the client', () => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    try {
      const emit = jest.fn();
      gatewayFilter.catch(new LockOptionsError('The key "k" is too long.'), hostOf('ws', { emit }));
      expect(emit.mock.calls).toEqual([
        ['exception', { status: 'error', message: 'Internal server error', code: 'LOCK_OPTIONS' }],
      ]);
      expect(logged.mock.calls).toEqual([[expect.stringContaining('The key "k" is too long.')]]);
    } finally {
      logged.mockRestore();
    }
  });

  it('a WebSocket client receives it as an exception event', () => {
    const emit = jest.fn();
    gatewayFilter.catch(error, hostOf('ws', { emit }));
    expect(emit.mock.calls).toEqual([['exception', remote]]);
  });

  it('a native WebSocket client receives it as a message', () => {
    const [emit, send] = [jest.fn(), jest.fn()];
    gatewayFilter.catch(error, hostOf('ws', { readyState: 1, emit, send }));
    expect(emit).not.toHaveBeenCalled();
    expect(send.mock.calls).toEqual([[JSON.stringify({ event: 'exception', data: remote })]]);
  });

  it('a GraphQL client receives the code, and not the key', () => {
    const answer = (): unknown => filter.catch(error, hostOf('graphql'));
    expect(answer).toThrow(LockTimeoutError);
    expect(answer).toThrow(remote.message);
    expect(answer).toThrow(expect.objectContaining({ extensions: { code: 'LOCK_TIMEOUT' } }));
  });

  it('the filter does not handle it for other transports', () => {
    expect(filter.catch(error, hostOf('necord'))).toBeUndefined();
  });
});

describe('B40: a lock error is an HttpException', () => {
  const details = { keys: ['k'] };
  it.each([
    [423, timeout()],
    [429, new LockQueueFullError('The lock "k" is busy', { ...details, waiting: 1, maxWaiting: 1 })],
    [503, new LockUnavailableError('No store for "k"', details)],
    [503, new LockClosedError('No lock "k" any more', details)],
    [500, new LockLostError('The lock "k" was lost', { ...details, reason: 'expired' })],
    [500, new LockNotHeldError('The lock "k" is not held', details)],
    [500, new LockUpgradeError('The lock "k" is shared', details)],
    [500, new LockOptionsError('The key "k" is too long', details)],
    [500, new LockUnsupportedError('The store has no "k"', details)],
    [503, new LockConflictError('The lock "k" has limit 3', { ...details, limit: 2, othersLimit: 3 })],
  ])('%i: %s', (status, lockError) => {
    expect(lockError).toBeInstanceOf(HttpException);
    expect(lockError.getStatus()).toBe(status);
    expect(lockError.getResponse()).toEqual({
      statusCode: status,
      message: expect.not.stringContaining('"k"'),
      error: expect.any(String),
      code: lockError.code,
    });
  });

  it('with the status of its module instance', () => {
    const origin = {};
    answerErrorsOf([origin], { http: { busyStatus: 409, busyReason: 'Conflict' }, rpc: { showKeys: true } });
    expect(originate(timeout(), origin).getResponse()).toMatchObject({ statusCode: 409, error: 'Conflict' });
    answerErrorsOf([origin], { http: false, rpc: { showKeys: true } });
    const body = { statusCode: 500, message: 'Internal server error' };
    expect(originate(timeout(), origin).getResponse()).toEqual(body);
  });
});
