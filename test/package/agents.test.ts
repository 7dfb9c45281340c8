import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RedisServer } from '../support/redis-server.js';
import { Consumer, PackedPackage } from './consumer.js';

const MINUTE = 60_000;
jest.setTimeout(4 * MINUTE);

/** Spans go to the standard output. */
const SETTINGS = {
  OTEL_TRACES_EXPORTER: 'console',
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_LOGS_EXPORTER: 'none',
};

describe.each([
  ['agents-nest11', 'Nest 11, ioredis 5, Sentry 9'],
  ['agents-nest12', 'Nest 12, ioredis 6, Sentry 10'],
])('F61: tracing agents with %s (%s)', (name) => {
  let packed: PackedPackage;
  let redis: RedisServer;
  let app: Consumer | undefined;

  beforeAll(async () => {
    [packed, redis] = await Promise.all([PackedPackage.pack(), RedisServer.start()]);
    const [installed] = await Consumer.install([name], packed);
    app = installed;
    await cp(join(import.meta.dirname, 'consumers/agents'), app?.folder ?? '', { recursive: true });
  });
  afterAll(async () => {
    await app?.remove();
    await redis.close();
    await packed.remove();
  });

  it.each([
    ['OpenTelemetry at its defaults', '@opentelemetry/auto-instrumentations-node/register', 0],
    ['OpenTelemetry without parent spans', './opentelemetry.cjs', 40],
    ['Sentry', './sentry.cjs', 0],
  ])(
    '%s: calls work, arguments show, and no request belongs to the start of the application',
    async (_, agent, least) => {
      const output = await app!.node('main.cjs', {
        ...SETTINGS,
        REDIS_URL: redis.url,
        NODE_OPTIONS: `--require ${agent}`,
      });
      const [, result = '{}'] = /^RESULT (.*)$/m.exec(output) ?? [];
      expect(JSON.parse(result)).toEqual({ done: 41, most: 1, busy: 'LOCK_TIMEOUT', shown: true });
      expect(output.match(/name: 'eval(sha)?'/g)?.length ?? 0).toBeGreaterThanOrEqual(least);
      expect(output).not.toContain('parentSpanContext: {');
    },
  );
});
