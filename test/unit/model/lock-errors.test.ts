import { describe, expect, it } from '@jest/globals';
import { HttpException } from '@nestjs/common';
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

describe('B40, B41: a lock error is an HttpException', () => {
  const details = { keys: ['k'] };
  it.each([
    [423, new LockTimeoutError('The lock "k" is held', { ...details, waitedFor: 0 })],
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
});
