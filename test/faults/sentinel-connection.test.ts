import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { redisConnector } from '../../lib/stores/redis/connection/redis-connection.js';
import { ServerConnection } from '../../lib/stores/redis/connection/server-connection.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { within } from '../support/until.js';

describe('the connection that Sentinel names', () => {
  let group: SentinelGroup;

  beforeAll(async () => {
    group = await SentinelGroup.start();
  });
  afterAll(() => group.close());

  async function connected(): Promise<ServerConnection> {
    const connector = redisConnector({ sentinels: [...group.sentinels], name: group.name });
    if (connector.kind !== 'server') throw new Error('Sentinel is no cluster');
    const ignore = (): void => undefined;
    const link = new ServerConnection(connector, 1_000, { back: ignore, lost: ignore });
    await link.open();
    return link;
  }

  /** Imitates ioredis after a sentinel reported a failover. */
  function tellOfFailover(client: Redis): void {
    (client as unknown as { connector: { disconnect(): void } }).connector.disconnect();
  }

  /** Tells a client of a failover while it looks for the primary. */
  async function tellWhileLooking(client: Redis): Promise<void> {
    client.on('error', () => undefined);
    client.disconnect(true);
    await within(5_000, 'the next try', once(client, 'connecting'));
    tellOfFailover(client);
  }

  it('P40: a failover that is reported while the primary is being looked up does not end the reconnect', async () => {
    const link = await connected();
    try {
      const { redis } = link;
      await tellWhileLooking(redis);
      // No once(): the failover is reported as an error, too.
      await within(10_000, 'the connection', new Promise((resolve) => redis.once('ready', resolve)));
      expect(await redis.ping()).toBe('PONG');
    } finally {
      link.close();
    }
  });

  it('is still needed: ioredis itself stops then', async () => {
    const client = new Redis({ sentinels: [...group.sentinels], name: group.name });
    try {
      await within(10_000, 'the connection', new Promise((resolve) => client.once('ready', resolve)));
      const ended = new Promise((resolve) => client.once('end', resolve));
      await tellWhileLooking(client);
      await within(10_000, 'the end', ended);
    } finally {
      client.disconnect();
    }
  });

  it('P40: a closed connection stays closed', async () => {
    const link = await connected();
    const ended = once(link.redis, 'end');
    link.close();
    await within(5_000, 'its end', ended);
    expect(link.redis.status).toBe('end');
  });
});
