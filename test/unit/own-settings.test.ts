import { expect, it } from '@jest/globals';
import { ownSentinelSettings, ownSettings } from '../../lib/stores/redis/connection/own-settings.js';

it('P40: while a failover goes on, Sentinel is asked for the new primary four times a second and more', () => {
  const options = { sentinels: [{ host: 'sentinel', port: 26_379 }], name: 'main' };
  const settings = { ...ownSettings(options, 1_000), ...ownSentinelSettings(options, 1_000) };
  const pauses = Array.from({ length: 50 }, (_, index) => Number(settings.retryStrategy?.(index + 1)));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(250);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(25);
});
