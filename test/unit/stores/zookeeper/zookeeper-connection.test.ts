import { afterEach, describe, expect, it } from '@jest/globals';
import type { ConnectionOptions } from 'node:tls';
import { ZooKeeperConnection } from '../../../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { withUncaughtCollected } from '../../../support/uncaught.js';
import { rejectionOf, until } from '../../../support/until.js';

describe('a connection to ZooKeeper', () => {
  let connection: ZooKeeperConnection | undefined;
  afterEach(() => connection?.close(false));

  it('that can’t even start is reported, ends no process, and is retried', async () => {
    let tries = 0;
    const tls: ConnectionOptions = {
      get servername(): string {
        tries += 1;
        throw new Error('the certificate is away');
      },
    };
    const nothing = (): void => undefined;
    const opened = new ZooKeeperConnection(
      [{ host: 'localhost', port: 1 }],
      { tls, auth: undefined, requestTimeout: 1_000 },
      () => 4_000,
      { prepare: () => Promise.resolve(), back: nothing, lost: nothing, event: nothing },
    );
    connection = opened;
    const uncaught = await withUncaughtCollected(async () => {
      const error = await rejectionOf(opened.open());
      expect(error).toMatchObject({ inDoubt: false, retryable: true });
      expect((error as Error).message).toContain('the certificate is away');
      await until('it is retried', () => tries > 3);
    });
    expect(uncaught).toEqual([]);
  });
});
