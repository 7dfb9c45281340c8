import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { until, within } from './until.js';

/**
 * A loopback proxy that delivers the server's bytes only when the server has closed its end. If the client aborts a TLS
 * handshake, the certificate and the alert then arrive together.
 */
export class HandshakeProxy {
  private readonly clients = new Set<Socket>();
  private whenBegun: (() => void) | undefined;

  private constructor(private readonly server: Server) {}

  static async before(target: number): Promise<HandshakeProxy> {
    const server = createServer({ allowHalfOpen: true });
    const proxy = new HandshakeProxy(server);
    server.on('connection', (client) => {
      proxy.join(client, connect({ port: target, host: '127.0.0.1', allowHalfOpen: true }));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Resolves when the server has replied to a new connection; the reply is not delivered yet. */
  async begun(): Promise<void> {
    const begun = new Promise<void>((resolve) => (this.whenBegun = resolve));
    await within(30_000, 'a handshake', begun);
  }

  /** Resolves when all connections are closed. */
  async close(): Promise<void> {
    this.server.close();
    await until('all connections are closed', () => this.clients.size === 0);
  }

  private join(client: Socket, server: Socket): void {
    const said: Buffer[] = [];
    this.clients.add(client);
    client.on('data', (chunk) => server.write(chunk));
    client.on('end', () => server.end());
    server.on('data', (chunk) => {
      said.push(chunk);
      // Later bytes belong to the end of the handshake.
      if (said.length === 1) this.whenBegun?.();
    });
    server.on('close', () => client.end(Buffer.concat(said)));
    for (const socket of [client, server]) socket.on('error', () => undefined);
    client.on('close', () => {
      this.clients.delete(client);
      server.destroy();
    });
  }
}
