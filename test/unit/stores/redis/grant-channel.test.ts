import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ServerConnection } from '../../../../lib/stores/redis/connection/server-connection.js';
import { GrantChannel } from '../../../../lib/stores/redis/grant-channel.js';

/** A subscription that always leads to the former primary. */
class StrayRedis extends EventEmitter {
  status = 'ready';
  readonly subscribed: string[] = [];
  opened = 0;

  constructor(private readonly watch: { server: Promise<string> }) {
    super();
  }

  subscribe(channel: string): Promise<number> {
    this.subscribed.push(channel);
    return Promise.resolve(1);
  }

  /** ioredis reconnects at once. */
  disconnect(): void {
    this.emit('close');
    this.open();
  }

  open(): void {
    this.opened += 1;
    // Compared by identity: another connection.
    this.watch.server = Promise.resolve('former');
    this.emit('ready');
  }
}

describe('a subscription at another server than the requests', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const opened = () => {
    const watch = { server: Promise.resolve('former'), request: (reply: unknown) => reply };
    const redis = new StrayRedis(watch);
    const warnings: string[] = [];
    const requests = { server: Promise.resolve('primary') };
    const link = {
      another: () => ({ redis, watch }),
      connect: () => {
        redis.open();
        return Promise.resolve();
      },
      connector: { address: 'shop:6379' },
      isReady: true,
      watch: requests,
    } as unknown as ServerConnection;
    const client = { pollNow: () => undefined, warn: (text: string) => void warnings.push(text) };
    const nothing = (): void => undefined;
    const channel = new GrantChannel('channel', 'p', link, client, nothing, nothing);
    channel.open();
    return { channel, redis, warnings, requests };
  };

  it('F68: is opened again for about a minute; then one warning says that waiters poll', async () => {
    const { redis, warnings } = opened();
    await jest.advanceTimersByTimeAsync(20_000);
    expect(redis.opened).toBeGreaterThan(5);
    expect(warnings).toEqual([]);
    await jest.advanceTimersByTimeAsync(280_000);
    expect(redis.opened).toBe(21);
    expect(warnings).toEqual([
      'Messages of Redis at shop:6379 come from another server than the replies to requests. Waiters now poll once a second. ' +
        'Use an address that leads to the primary only.',
    ]);
  });

  it('F68: the attempts begin anew after each reconnection of the requests, without a second warning', async () => {
    const { channel, redis, warnings, requests } = opened();
    await jest.advanceTimersByTimeAsync(300_000);
    requests.server = Promise.resolve('next');
    void channel.follow(true);
    await jest.advanceTimersByTimeAsync(300_000);
    expect(redis.opened).toBe(41);
    expect(warnings).toHaveLength(1);
  });
});
