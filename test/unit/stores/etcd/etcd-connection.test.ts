import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import {
  EtcdConnection,
  type ConnectionListener,
} from '../../../../lib/stores/etcd/connection/etcd-connection.js';
import { LockStoreError } from '../../../../lib/stores/port/lock-store.js';
import { rejectionOf, until } from '../../../support/until.js';

const listener: ConnectionListener = {
  prepare: () => Promise.resolve(),
  back: () => undefined,
  lost: () => undefined,
};

describe('a connection to etcd', () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  let connection: EtcdConnection | undefined;

  afterEach(() => {
    connection?.close();
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const server of servers.splice(0)) server.close();
  });

  /** Accepts connections and sends nothing. */
  async function silentServer(onConnection: () => void): Promise<string> {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      onConnection();
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' && address !== null ? `127.0.0.1:${String(address.port)}` : '';
  }

  it('tries no other member after it was closed', async () => {
    let connections = 0;
    const taken = (): void => {
      connections += 1;
      connection?.close();
    };
    const addresses = [await silentServer(taken), await silentServer(taken), await silentServer(taken)];
    connection = new EtcdConnection({ addresses, tls: undefined, credentials: undefined }, 1_000, listener);
    expect(await rejectionOf(connection.open())).toBeInstanceOf(LockStoreError);
    expect(connections).toBe(1);
  });

  it('reports an attempt that could not start like any other failure, and retries', async () => {
    let tries = 0;
    const tls = {
      get cert(): string {
        tries += 1;
        return 'no PEM';
      },
      key: 'no PEM',
    };
    connection = new EtcdConnection(
      { addresses: ['127.0.0.1:1'], tls, credentials: undefined },
      1_000,
      listener,
    );
    expect(await rejectionOf(connection.open())).toBeInstanceOf(LockStoreError);
    const before = tries;
    await until('it is retried', () => tries > before);
  });
});
