import { afterEach, describe, expect, it } from '@jest/globals';
import { KeptConnection, type Link } from '../../../../lib/stores/port/kept-connection.js';
import { LockStoreError } from '../../../../lib/stores/port/lock-store.js';
import { until } from '../../../support/until.js';

class TestLink implements Link {
  constructor(
    readonly server: string,
    private readonly onEnd: (cause: Error) => void,
  ) {}

  cut(why: Error): void {
    this.onEnd(why);
  }
}

class TestConnection extends KeptConnection<string, TestLink> {
  constructor(
    servers: readonly string[],
    private readonly test: {
      connect(server: string, onEnd: (cause: Error) => void): TestLink;
      prepare(link: TestLink): Promise<void>;
      lost(): void;
      back(): void;
    },
  ) {
    super(servers, test);
  }

  notConnected(): LockStoreError {
    const { message } = this.failure ?? new Error('closed');
    return new LockStoreError(message, { inDoubt: false, retryable: true });
  }

  close(): TestLink | undefined {
    return this.stop();
  }

  stay(): void {
    this.tryAgain();
  }

  protected connect(server: string, onEnd: (cause: Error) => void): TestLink {
    return this.test.connect(server, onEnd);
  }

  protected prepare(link: TestLink): Promise<void> {
    return this.test.prepare(link);
  }
}

describe('a connection that is kept', () => {
  let kept: TestConnection | undefined;
  afterEach(() => kept?.close()?.cut(new Error('the test has ended')));

  /** Connects to these servers. Each attempt calls `begin` with its number, then `prepare`. */
  function keep(
    servers: readonly string[],
    prepare: (link: TestLink, attempt: number) => void = () => undefined,
    begin: (attempt: number) => void = () => undefined,
  ) {
    const events: string[] = [];
    let attempts = 0;
    const connection = new TestConnection(servers, {
      connect: (server, onEnd) => {
        attempts += 1;
        events.push('connect');
        begin(attempts);
        return new TestLink(server, onEnd);
      },
      prepare: async (link) => prepare(link, attempts),
      lost: () => void events.push('lost'),
      back: () => void events.push('back'),
    });
    kept = connection;
    return { connection, events };
  }

  it('tries each server once before it reports a failure, and keeps trying in the background', async () => {
    const tried: string[] = [];
    const { connection, events } = keep(['a', 'b', 'c'], ({ server }, attempt) => {
      tried.push(server);
      if (attempt <= 3) throw new Error('it is down');
    });
    await expect(connection.open()).rejects.toThrow(LockStoreError);
    expect([...tried].sort()).toEqual(['a', 'b', 'c']);
    expect(connection.failure?.message).toBe('it is down');
    await until('it is connected', () => connection.ready !== undefined);
    expect(events.at(-1)).toBe('back');
    expect(connection.server).toBe(tried.at(-1));
    expect(connection.failure).toBeUndefined();
  });

  it('retries an attempt that could not even start', async () => {
    const { connection, events } = keep(['a'], undefined, (attempt) => {
      if (attempt === 1) throw new Error('the certificate is missing');
    });
    await expect(connection.open()).rejects.toThrow(LockStoreError);
    expect(connection.failure?.message).toBe('the certificate is missing');
    await until('it is retried', () => connection.ready !== undefined);
    expect(events).toEqual(['connect', 'connect', 'back']);
  });

  it('connects to another server when the connection ends', async () => {
    const { connection, events } = keep(['a', 'b']);
    await connection.open();
    const first = connection.ready;
    first?.cut(new Error('it is gone'));
    expect([connection.ready, connection.failure?.message]).toEqual([undefined, 'it is gone']);
    await until('it is connected', () => connection.ready !== undefined);
    expect(events).toEqual(['connect', 'lost', 'connect', 'back']);
    const second = connection.ready;
    expect(second?.server).not.toBe(first?.server);
    first?.cut(new Error('it ends once more'));
    expect(connection.ready).toBe(second);
  });

  it('does not use a connection that ended while it was prepared', async () => {
    const { connection, events } = keep(['a'], (link, attempt) => {
      if (attempt === 1) link.cut(new Error('it is gone'));
    });
    await expect(connection.open()).rejects.toThrow(LockStoreError);
    await until('it is connected', () => connection.ready !== undefined);
    expect(events).toEqual(['connect', 'connect', 'back']);
  });

  it('stays with a server that is well, and begins with the shortest pause again', async () => {
    const tried: string[] = [];
    const startedAt: number[] = [];
    const { connection } = keep(['a', 'b'], ({ server }, attempt) => {
      tried.push(server);
      startedAt.push(performance.now());
      // By the eighth attempt, pauses would be 200 ms long.
      if (attempt === 8) connection.stay();
      if (attempt <= 8) throw new Error('it is down');
    });
    await expect(connection.open()).rejects.toThrow(LockStoreError);
    await until('it is connected', () => connection.ready !== undefined);
    expect(tried).toHaveLength(9);
    expect(tried[8]).toBe(tried[7]);
    expect((startedAt[8] ?? NaN) - (startedAt[7] ?? NaN)).toBeLessThan(
      (startedAt[7] ?? NaN) - (startedAt[6] ?? NaN),
    );
  });

  it('makes no further attempt once it is closed', async () => {
    const { connection, events } = keep(['a', 'b', 'c'], (link) => {
      expect(connection.close()).toBe(link);
    });
    await expect(connection.open()).rejects.toThrow(LockStoreError);
    expect(events).toEqual(['connect']);
    expect(connection.ready).toBeUndefined();
  });
});
