import { afterAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { RedisServer } from '../support/redis-server.js';

const script = fileURLToPath(new URL('../support/request-memory.mjs', import.meta.url));

describe('the memory of a finished request', () => {
  const servers: RedisServer[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.close())));

  /** Names of the requests whose memory was not freed. */
  async function left(options: object): Promise<unknown> {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['--expose-gc', script, JSON.stringify(options)]);
    return JSON.parse(stdout);
  }

  async function urls(count: number): Promise<string[]> {
    const started = await Promise.all(Array.from({ length: count }, () => RedisServer.start()));
    servers.push(...started);
    return started.map(({ url }) => url);
  }

  it('is freed, even if the request opened connections and armed timers that live on', async () => {
    const [redis] = await urls(1);
    expect(await left({ redis })).toEqual([]);
  });

  it('is freed with a quorum of servers', async () => {
    expect(await left({ quorum: await urls(3) })).toEqual([]);
  });
});
