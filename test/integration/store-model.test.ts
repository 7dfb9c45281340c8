import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RedisServer } from '../support/redis-server.js';

const script = fileURLToPath(new URL('../explore/compare-with-redis.mjs', import.meta.url));

describe('the explorer’s model of a store', () => {
  let server: RedisServer | undefined;

  beforeAll(async () => {
    server = await RedisServer.start();
  });

  afterAll(() => server?.stop());

  it('replies like the real scripts in every state of a lock with three owners', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, server?.url ?? '', '3']);
    expect(stdout).toMatch(/^same: 2208 sequences, 158 states/);
  });
});
