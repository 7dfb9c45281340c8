import { describe, expect, it } from '@jest/globals';
import { exitCodeOf } from '../../../lib/cli/common/exit-codes.js';
import { outcomeOf } from '../../../lib/engine/report/traces.js';
import {
  LockConflictError,
  LockLostError,
  LockOptionsError,
  LockUnsupportedError,
  LockUpgradeError,
} from '../../../lib/index.js';

describe('a call that is refused', () => {
  it.each([
    [new LockOptionsError('waitTime must be a number'), 64],
    [new LockConflictError('other limits', { limit: 2, othersLimit: 3 }), 64],
    [new LockUnsupportedError('no list()'), 64],
    [new LockUpgradeError('shared'), 70],
  ])('is refused for metrics and traces, and a usage error of the command line: %s', (error, exitCode) => {
    expect(outcomeOf(error, { skips: false, signal: undefined })).toBe('refused');
    expect(exitCodeOf(error)).toBe(exitCode);
  });

  it('is not refused when its signal aborts with the loss of another lock', () => {
    const lost = new LockLostError('lost', { keys: ['other'], reason: 'expired' });
    expect(outcomeOf(lost, { skips: false, signal: undefined })).toBe('aborted');
  });
});
