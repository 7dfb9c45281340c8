import { once } from 'node:events';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';
import { ProxiedConnection, type Direction } from './proxied-connection.js';

export type { Direction, ProxiedConnection };

type Which = (connection: ProxiedConnection) => boolean;
const every: Which = () => true;

/**
 * A loopback proxy that can do to a connection what a network does: cut it, swallow what goes one way, hold it back,
 * refuse new ones. TCP never loses bytes in the middle of a connection that goes on, so neither does this proxy: a
 * connection that lost something stays mute in that direction until it is cut.
 */
export class TcpProxy {
  private readonly open = new Set<ProxiedConnection>();
  private readonly faults = new Set<(connection: ProxiedConnection) => void>();
  private server: Server | undefined;
  private accepted = 0;

  private constructor(
    readonly port: number,
    private target: number,
  ) {}

  static async before(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(await freePort(), target);
    await proxy.accept();
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Open connections, oldest first. */
  get connections(): readonly ProxiedConnection[] {
    return [...this.open];
  }

  /** Connections accepted since the start. */
  get connectionsAccepted(): number {
    return this.accepted;
  }

  /** Resets connections; new ones are welcome. */
  cut(which: Which = every): number {
    const victims = this.connections.filter(which);
    for (const connection of victims) connection.cut();
    return victims.length;
  }

  /** New connections get ECONNREFUSED until `accept()`; open ones live on. */
  async refuse(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    // The callback of close() waits for open connections too; not listening any more is enough here.
    server?.close();
    await Promise.resolve();
  }

  async accept(): Promise<void> {
    if (this.server) return;
    const server = createServer((socket) => this.join(socket));
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.server = server;
  }

  /** New connections lead to another server, as when a name or an address has moved to it; open ones are reset. */
  lead(target: number): void {
    this.target = target;
    this.cut();
  }

  /** Discards what flows in `direction`, on the connections of now and later, until the returned function is called. */
  swallow(direction: Direction, which: Which = every): () => void {
    const stop = this.apply((connection) => connection.swallow(direction), which);
    return () => {
      stop();
      for (const connection of this.open) if (connection.hasLost) connection.cut();
    };
  }

  /** Keeps back what flows in `direction`; the returned function lets it all go on, in order. */
  hold(direction: Direction, which: Which = every): () => void {
    const held = new Set<ProxiedConnection>();
    const stop = this.apply((connection) => {
      held.add(connection);
      connection.hold(direction);
    }, which);
    return () => {
      stop();
      for (const connection of held) connection.letGo(direction);
    };
  }

  /**
   * Makes the network so slow that a request and its reply take `ms` more than they do, on the connections of now and
   * later; the returned function ends that.
   */
  delay(ms: number, which: Which = every): () => void {
    const set = (connection: ProxiedConnection, each: number): void => {
      connection.delay('requests', each);
      connection.delay('replies', each);
    };
    const stop = this.apply((connection) => set(connection, ms / 2), which);
    return () => {
      stop();
      for (const connection of this.open) if (which(connection)) set(connection, 0);
    };
  }

  /**
   * The next reply that comes back to a request that `fits` is lost with its connection: the server has done the work,
   * the client sees a reset. Resolves when that has happened.
   */
  loseReply(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return this.onceOn('request', fits, (connection) => connection.cutInsteadOfReply());
  }

  /** Resolves when a request that `fits` passes on its way to the server. */
  request(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return new Promise((resolve) => {
      void this.onceOn('request', fits, () => resolve());
    });
  }

  /** The next request that `fits` never reaches the server: its connection is cut instead. */
  loseRequest(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return this.onceOn('request', fits, (connection) => {
      connection.swallow('requests');
      connection.cut();
    });
  }

  /** The next reply that `fits` is lost with its connection. */
  losePush(fits: (reply: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return this.onceOn('reply', fits, (connection) => {
      connection.swallow('replies');
      connection.cut();
    });
  }

  async close(): Promise<void> {
    await this.refuse();
    this.faults.clear();
    this.cut();
  }

  private apply(fault: (connection: ProxiedConnection) => void, which: Which): () => void {
    const guarded = (connection: ProxiedConnection): void => {
      if (which(connection)) fault(connection);
    };
    for (const connection of this.open) guarded(connection);
    this.faults.add(guarded);
    return () => this.faults.delete(guarded);
  }

  private onceOn(
    kind: 'request' | 'reply',
    fits: (text: string, connection: ProxiedConnection) => boolean,
    act: (connection: ProxiedConnection) => void,
  ): Promise<void> {
    return new Promise((resolve) => {
      let done = false;
      const stop = this.apply((connection) => {
        connection.watch(kind, (text) => {
          if (done || !fits(text, connection)) return;
          done = true;
          stop();
          connection.onCut(resolve);
          act(connection);
        });
      }, every);
    });
  }

  private join(client: Socket): void {
    this.accepted += 1;
    const server = connect(this.target, '127.0.0.1');
    const connection = new ProxiedConnection(client, server);
    this.open.add(connection);
    connection.onCut(() => this.open.delete(connection));
    for (const fault of this.faults) fault(connection);
  }
}
