import { EventEmitter } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { OwnerId } from '../../../../lib/stores/port/index.js';
import type { ServerConnector } from '../../../../lib/stores/redis/connection/redis-connection.js';
import { RedisSession } from '../../../../lib/stores/redis/redis-session.js';
import { KeyNames } from '../../../../lib/stores/redis/scripts/key-names.js';
import { idleClient } from '../../../support/idle-client.js';
import { until } from '../../../support/until.js';

type Reply = [error: Error | null, reply: unknown];

/** A client of ioredis whose server the test plays. */
class PlayedRedis extends EventEmitter {
  status = 'ready';
  readonly options = {};
  /** The owners that were released, in order. */
  readonly released: string[] = [];
  /** How many of them have a reply; then the connection is lost. */
  replies = Infinity;

  constructor(public server: string) {
    super();
    this.setMaxListeners(0);
  }

  info(): Promise<string> {
    return Promise.resolve(`run_id:${this.server}\r\n`);
  }

  async call(_name: string, args: readonly unknown[]): Promise<unknown> {
    const owners = args.filter((arg) => typeof arg === 'string' && arg.startsWith('me:'));
    this.released.push(...(owners as string[]));
    if (this.released.length <= this.replies) return 1;
    process.nextTick(() => this.lose());
    throw new Error('Connection is closed.');
  }

  pipeline(): object {
    const all: Promise<Reply>[] = [];
    const pipeline = {
      call: (name: string, ...args: readonly unknown[]) => {
        const outcome = this.call(name, args).then(
          (reply): Reply => [null, reply],
          (error: unknown): Reply => [error as Error, undefined],
        );
        all.push(outcome);
        return pipeline;
      },
      exec: () => Promise.all(all),
    };
    return pipeline;
  }

  disconnect(): void {
    if (this.status === 'end') return;
    this.status = 'end';
    this.emit('close');
  }

  lose(): void {
    if (this.status !== 'ready') return;
    this.status = 'close';
    this.emit('close');
  }

  reconnect(server: string): void {
    this.server = server;
    this.replies = Infinity;
    this.status = 'ready';
    this.emit('connect');
    this.emit('ready');
  }
}

describe('releases that a failover may lose', () => {
  const opened: RedisSession[] = [];
  afterEach(async () => {
    for (const session of opened.splice(0)) await session.close();
  });

  async function scene() {
    const redis = new PlayedRedis('former');
    const connector = {
      address: 'here:6379',
      user: 'default',
      database: 0,
      // The subscription is of no interest here.
      create: () => (opened.length === 0 ? redis : new PlayedRedis('')) as unknown as Redis,
      connect: () => {
        redis.emit('connect');
        return Promise.resolve();
      },
    } as unknown as ServerConnector;
    const session = new RedisSession(
      connector,
      new KeyNames('lock:', false),
      { ...idleClient, id: 'me' },
      undefined,
      undefined,
    );
    opened.push(session);
    await session.start();
    redis.emit('ready');
    const release = async (count: number): Promise<string> => {
      const request = {
        key: `key-${count}`,
        owner: `me:${count}` as OwnerId,
        wasGranted: true,
        inDoubt: false,
      };
      return await session.release(request).then(
        (reply) => reply,
        () => 'failed',
      );
    };
    const failover = async (server: string, replies = Infinity): Promise<void> => {
      redis.lose();
      redis.released.length = 0;
      redis.reconnect(server);
      redis.replies = replies;
      // Repeats begin when the server is known.
      await new Promise((resolve) => setImmediate(resolve));
    };
    return { redis, session, release, failover };
  }

  it('F68: are repeated at another server, and not at the same one', async () => {
    const { redis, release, failover } = await scene();
    expect(await release(1)).toBe('released');
    await failover('former');
    expect(redis.released).toEqual([]);
    await failover('next');
    expect(redis.released).toEqual(['me:1']);
  });

  it('F68, P33: one that was not sent is not repeated: its caller repeats it, which would find the lock lost', async () => {
    const { redis, session, release, failover } = await scene();
    session.inspect('other').catch(() => undefined);
    const released = release(1);
    redis.lose();
    expect(await released).toBe('failed');
    await failover('next');
    expect(redis.released).toEqual([]);
    expect(await release(1)).toBe('released');
  });

  it('F68: all of them are repeated until they have a reply, however many, and over however many connections', async () => {
    const { redis, release, failover } = await scene();
    const all = Array.from({ length: 8_000 }, (_, count) => count);
    expect(new Set(await Promise.all(all.map(release)))).toEqual(new Set(['released']));
    await failover('next', 5_000);
    await until('the connection is lost', () => redis.status === 'close');
    const replied = new Set(redis.released.slice(0, 5_000));
    await failover('next');
    const missing = all.map((count) => `me:${count}`).filter((owner) => !replied.has(owner));
    await until('the others are repeated', () => {
      const again = new Set(redis.released);
      return missing.every((owner) => again.has(owner));
    });
  });
});
