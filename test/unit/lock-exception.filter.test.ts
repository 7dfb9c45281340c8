import { describe, expect, it, jest } from '@jest/globals';
import type { ArgumentsHost } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { lastValueFrom } from 'rxjs';
import { LockTimeoutError } from '../../lib/index.js';
import { LockExceptionFilter } from '../../lib/nest/lock-exception.filter.js';

const error = new LockTimeoutError('The lock "k" is held by others, and waitTime is 0.', {
  keys: ['k'],
  waitedFor: 0,
});
const filter = new LockExceptionFilter(new HttpAdapterHost(), { busyStatus: 423 });

function hostOf(type: string, client?: object): ArgumentsHost {
  const host = { getType: () => type, switchToWs: () => ({ getClient: () => client }) };
  // Only what the filter uses.
  return host as unknown as ArgumentsHost;
}

const remote = { status: 'error', message: error.message, code: 'LOCK_TIMEOUT', keys: ['k'] };

describe('B41: outside of HTTP', () => {
  it('a remote caller (RPC) gets the error, in the form in which errors travel', async () => {
    const answer = filter.catch(error, hostOf('rpc'));
    await expect(answer && lastValueFrom(answer)).rejects.toEqual(remote);
  });

  it('a WebSocket client gets it as an exception event', () => {
    const emit = jest.fn();
    expect(filter.catch(error, hostOf('ws', { emit }))).toBeUndefined();
    expect(emit.mock.calls).toEqual([['exception', remote]]);
  });

  it('GraphQL gets the error itself: the filter does not handle it', () => {
    expect(filter.catch(error, hostOf('graphql'))).toBeUndefined();
  });
});
