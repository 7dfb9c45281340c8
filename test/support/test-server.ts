import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** A TCP server, on a free port unless one is given. Without `serve` it accepts connections and never replies. */
export class TestServer {
  /** Every connection so far, oldest first. */
  readonly connections: Socket[] = [];

  private constructor(private readonly serve: (socket: Socket) => void) {}

  private readonly server = createServer((socket) => {
    this.connections.push(socket.on('error', () => undefined));
    this.serve(socket);
  });

  static async start(serve = (socket: Socket): unknown => socket.resume(), port = 0): Promise<TestServer> {
    const one = new TestServer(serve);
    one.server.listen(port, '127.0.0.1');
    await once(one.server, 'listening');
    return one;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    this.server.close();
    for (const socket of this.connections) socket.destroy();
  }
}
