import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Command, Redis } from 'ioredis';
import { sendCall } from '../../../../lib/stores/redis/scripts/encoded-call.js';
import { KeyNames } from '../../../../lib/stores/redis/scripts/key-names.js';
import { scripts } from '../../../../lib/stores/redis/scripts/scripts.js';

describe('a call of a script as a command of ioredis', () => {
  const call = scripts.renew.with([new KeyNames('lock:').of('key')], [{ owner: 'client:1', lease: 1 }], {});
  let seen: unknown[];
  let command: Command;
  beforeEach(() => {
    jest.useFakeTimers();
    seen = [];
    const redis = new Redis({ lazyConnect: true });
    redis.sendCommand = (sent: Command) => {
      command = sent;
    };
    const listener = {
      replied: (reply: unknown) => seen.push(reply),
      failed: (error: unknown) => seen.push(error),
    };
    sendCall(redis, call, listener, true);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('reports the outcome of a command that a wrapper sends instead', async () => {
    const redis = new Redis({ lazyConnect: true });
    redis.sendCommand = ({ name, args }: Command) => {
      const own = new Command(name, args as string[]);
      own.resolve(Buffer.from('granted'));
      return own.promise;
    };
    const listener = { replied: (reply: unknown) => seen.push(reply), failed: () => undefined };
    sendCall(redis, call, listener, true);
    await jest.advanceTimersByTimeAsync(0);
    expect(seen).toEqual(['granted']);
  });

  it("applies the user's commandTimeout, and leaves no timer", () => {
    const before = jest.getTimerCount();
    command.setTimeout(1_000);
    expect(jest.getTimerCount()).toBe(before + 1);
    command.resolve(1);
    expect(jest.getTimerCount()).toBe(before);
    expect(seen).toEqual([1]);
  });

  it("fails after the user's commandTimeout, even if a reply arrives later", async () => {
    command.setTimeout(1_000);
    jest.advanceTimersByTime(1_000);
    command.resolve(1);
    await Promise.resolve();
    expect(seen).toEqual([new Error('Command timed out')]);
  });
});
