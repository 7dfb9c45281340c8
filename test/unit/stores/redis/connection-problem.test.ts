import { describe, expect, it } from '@jest/globals';
import { notConnected } from '../../../../lib/stores/redis/connection/redis-failure.js';
import { connectionProblem } from '../../../../lib/stores/redis/doctor/examine-redis.js';

describe('a failed connection of doctor', () => {
  it.each([
    // The other remedies are those of every error.
    ['All sentinels are unreachable.', 'name of the primary'],
    ['something else', 'Check the address'],
  ])('is reported with a remedy for "%s"', (cause, remedy) => {
    const { check, level, text } = connectionProblem(notConnected(new Error(cause)));
    expect({ check, level }).toEqual({ check: 'connection', level: 'problem' });
    expect(text).toContain(`Redis is not connected (${cause}). `);
    expect(text).toContain(remedy);
  });
});
