import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { redisConnector } from '../../lib/stores/redis/connection/redis-connection.js';
import { ServerConnection } from '../../lib/stores/redis/connection/server-connection.js';
import { TestServer } from '../support/test-server.js';
import { rejectionOf, within } from '../support/until.js';

const TIMEOUT = 300;

describe('a server that accepts connections', () => {
  let server: TestServer;
  /** What the server replies to a command, in the protocol of Redis; undefined for no reply. */
  let reply: (command: string) => string | undefined;

  beforeAll(async () => {
    server = await TestServer.start((socket) =>
      socket.on('data', (data) => {
        for (const [, command = ''] of data.toString().matchAll(/(?:^|\n)\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          const text = reply(command.toLowerCase());
          if (text !== undefined) socket.write(text);
        }
      }),
    );
  });
  afterAll(() => server.close());

  function connection(): ServerConnection {
    const connector = redisConnector({ port: server.port });
    if (connector.kind !== 'server') throw new Error('this is one server');
    const ignore = (): void => undefined;
    return new ServerConnection(connector, TIMEOUT, { back: ignore, lost: ignore });
  }

  it('but never replies, not even at the start, is left after the request timeout', async () => {
    reply = () => undefined;
    const link = connection();
    try {
      const error = await within(5_000, 'the failure', rejectionOf(link.open()));
      expect((error as Error).message).toContain(`no answer within ${String(TIMEOUT)} ms`);
      reply = (command) => (command === 'info' ? info('loading:0') : '+OK\r\n');
      await within(5_000, 'the next attempt', once(link.redis, 'ready'));
    } finally {
      link.close();
    }
  });

  it('and is loading its data keeps its connection', async () => {
    let asked = 0;
    reply = (command) => {
      if (command !== 'info') return '+OK\r\n';
      asked += 1;
      return info(asked < 5 ? 'loading:1\r\nloading_eta_seconds:1' : 'loading:0');
    };
    const link = connection();
    let closed = 0;
    link.redis.on('close', () => (closed += 1));
    try {
      await within(10_000, 'the end of loading', link.open());
      expect(closed).toBe(0);
    } finally {
      link.close();
    }
  });
});

function info(text: string): string {
  return `$${String(text.length)}\r\n${text}\r\n`;
}
