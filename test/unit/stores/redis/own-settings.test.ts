import { expect, it } from '@jest/globals';
import { ownSettings } from '../../../../lib/stores/redis/connection/own-settings.js';

it('P40: during a failover, ioredis asks Sentinel for the new primary at least four times a second', () => {
  const options = { sentinels: [{ host: 'sentinel', port: 26_379 }], name: 'main' };
  const settings = ownSettings(options, 1_000);
  const pauses = Array.from({ length: 50 }, (_, index) => Number(settings.retryStrategy?.(index + 1)));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(250);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(25);
});

it('P31: ioredis neither queues, resends nor retries, even if the user has configured it to', () => {
  const asked = {
    enableOfflineQueue: true,
    autoResendUnfulfilledCommands: true,
    maxRetriesPerRequest: 20,
    socketTimeout: 10,
  };
  const settings = { ...asked, ...ownSettings(asked, 1_000) };
  expect(settings).toMatchObject({
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    socketTimeout: undefined,
  });
});
