import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Redis } from 'ioredis';
import { redisConnector } from '../../lib/stores/redis/connection/redis-connection.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { within } from '../support/until.js';

describe('the connection that Sentinel names', () => {
  let group: SentinelGroup;

  beforeAll(async () => {
    group = await SentinelGroup.start();
  });
  afterAll(() => group.close());

  async function connected(): Promise<Redis> {
    const connector = redisConnector({ sentinels: [...group.sentinels], name: group.name });
    if (connector.kind !== 'server') throw new Error('Sentinel is no cluster');
    const client = connector.create(1_000);
    client.on('error', () => undefined);
    await connector.connect(client);
    return client;
  }

  /** Imitates ioredis after a sentinel reported a failover. */
  function tellOfFailover(client: Redis): void {
    (client as unknown as { connector: { disconnect(): void } }).connector.disconnect();
  }

  it('P40: a failover that is reported while the primary is being looked up does not end the reconnect', async () => {
    const client = await connected();
    try {
      client.disconnect(true);
      await within(5_000, 'the next try', once(client, 'connecting'));
      // No once(): the failover is reported as an error, too.
      const ready = new Promise((resolve) => client.once('ready', resolve));
      tellOfFailover(client);
      await within(10_000, 'the connection', ready);
      expect(await client.ping()).toBe('PONG');
    } finally {
      client.disconnect();
    }
  });

  it('P40: a closed connection stays closed', async () => {
    const client = await connected();
    const ended = once(client, 'end');
    client.disconnect();
    await within(5_000, 'its end', ended);
    expect(client.status).toBe('end');
  });
});
