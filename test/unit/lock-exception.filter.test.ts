import { describe, expect, it, jest } from '@jest/globals';
import { Logger, type ArgumentsHost } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { lastValueFrom, type Observable } from 'rxjs';
import { LockOptionsError, LockTimeoutError } from '../../lib/index.js';
import { ErrorSettings } from '../../lib/nest/requests/error-settings.js';
import { GatewayFilter } from '../../lib/nest/requests/gateway.filter.js';
import { lockExceptionFilterOf } from '../../lib/nest/requests/lock-exception.filter.js';

const error = new LockTimeoutError('The lock "k" is held by others, and waitTime is 0.', {
  keys: ['k'],
  waitedFor: 0,
});
const filterOf = (showKeys: boolean): ReturnType<typeof lockExceptionFilterOf> => {
  const settings = ErrorSettings.of(new ModulesContainer());
  settings.add(undefined, { http: { busyStatus: 423 }, rpc: { showKeys } }, []);
  return lockExceptionFilterOf(settings);
};
const filter = filterOf(false);
const gatewayFilter = new GatewayFilter();

function hostOf(type: string, client?: object): ArgumentsHost {
  const host = { getType: () => type, switchToWs: () => ({ getClient: () => client }) };
  // Only what the filter uses.
  return host as unknown as ArgumentsHost;
}

const remote = {
  status: 'error',
  message: 'The resource is in use by another request. Try again later.',
  code: 'LOCK_TIMEOUT',
};

describe('B41: outside of HTTP', () => {
  it('a remote caller (RPC) gets the error, in the form in which errors travel', async () => {
    const answer = filter.catch(error, hostOf('rpc')) as Observable<never>;
    await expect(lastValueFrom(answer)).rejects.toEqual(remote);
  });

  it('services of the same owner get the key and the whole message, where rpc.showKeys says so', async () => {
    const answer = filterOf(true).catch(error, hostOf('rpc')) as Observable<never>;
    const { message, keys } = error;
    await expect(lastValueFrom(answer)).rejects.toEqual({ ...remote, message, keys });
  });

  it('what a client can do nothing about is logged, and the client gets no word of it', () => {
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

  it('a WebSocket client gets it as an exception event', () => {
    const emit = jest.fn();
    gatewayFilter.catch(error, hostOf('ws', { emit }));
    expect(emit.mock.calls).toEqual([['exception', remote]]);
  });

  it('a native WebSocket client gets it as a message', () => {
    const [emit, send] = [jest.fn(), jest.fn()];
    gatewayFilter.catch(error, hostOf('ws', { readyState: 1, emit, send }));
    expect(emit).not.toHaveBeenCalled();
    expect(send.mock.calls).toEqual([[JSON.stringify({ event: 'exception', data: remote })]]);
  });

  it('the filter does not handle it for GraphQL and others', () => {
    expect(filter.catch(error, hostOf('graphql'))).toBeUndefined();
  });
});
