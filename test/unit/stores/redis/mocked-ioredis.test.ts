import { afterEach, expect, it, jest } from '@jest/globals';
import { redisConnector } from '../../../../lib/stores/redis/connection/redis-connection.js';

class RedisMock {
  sendCommand(): void {
    // The name of the client of the package ioredis-mock.
  }
}

afterEach(() => {
  jest.dontMock('ioredis');
  jest.resetModules();
});

it.each<[string, () => unknown]>([
  ['jest.mock()', () => jest.createMockFromModule('ioredis')],
  ['a function in its place', () => jest.fn()],
  ['a class of the test', () => ({ Redis: class Redis {} })],
  ['ioredis-mock', () => ({ Redis: RedisMock })],
])('F40: %s instead of ioredis: the error names it and the remedy', (_, replacement) => {
  jest.resetModules();
  jest.doMock('ioredis', replacement);
  expect(() => redisConnector('redis://localhost:6379')).toThrow(
    /^DistributedLockModule: the package ioredis is replaced by a mock, .* store: 'memory', or a real server\.$/,
  );
});
