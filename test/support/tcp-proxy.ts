import { once } from 'node:events';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { freePort } from './free-port.js';
import { ProxiedConnection, type Direction } from './proxied-connection.js';

export type { Direction, ProxiedConnection };

type Which = (connection: ProxiedConnection) => boolean;
const every: Which = () => true;

/**
 * A loopback proxy that imitates network faults: it can cut connections, swallow or hold back one direction, and refuse
 * new connections. TCP never loses bytes in the middle of an open connection, so neither does this proxy: a connection
 * that lost bytes stays mute in that direction until it is cut.
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

  /** Resets connections; new ones are accepted. */
  cut(which: Which = every): number {
    const victims = this.connections.filter(which);
    for (const connection of victims) connection.cut();
    return victims.length;
  }

  /** New connections get ECONNREFUSED until `accept()`; open ones stay. */
  async refuse(): Promise<void> {
    const { server } = this;
    this.server = undefined;
    // The callback of close() also waits for open connections; here it is enough not to listen any more.
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

  /** Leads new connections to another server, as when a name or an address has moved; open ones are reset. */
  lead(target: number): void {
    this.target = target;
    this.cut();
  }

  /** Leads new connections to another server; open ones live on, as when a load balancer moves an address. */
  leadNew(target: number): void {
    this.target = target;
  }

  /** Discards bytes in `direction`, on open and new connections, until the returned function is called. */
  swallow(direction: Direction, which: Which = every): () => void {
    const stop = this.apply((connection) => connection.swallow(direction), which);
    return () => {
      stop();
      for (const connection of this.open) if (connection.hasLost) connection.cut();
    };
  }

  /** Holds bytes in `direction` back; the returned function delivers them in order. */
  hold(direction: Direction, which: Which = every): () => void {
    const held = new Set<ProxiedConnection>();
    const stop = this.apply((connection) => {
      held.add(connection);
      connection.hold(direction);
    }, which);
    return () => {
      stop();
      for (const connection of held) connection.deliver(direction);
    };
  }

  /**
   * Delays a request and its reply by `ms` in total, on open and new connections, until the returned function is
   * called.
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
   * Loses the next reply to a matching request together with its connection: the server carries the request out, and the
   * client sees a reset. Resolves when that has happened.
   */
  loseReply(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return this.onceRequested(fits, (connection) => connection.cutInsteadOfReply());
  }

  /** Resolves when a matching request passes on its way to the server. */
  request(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return new Promise((resolve) => {
      void this.onceRequested(fits, () => resolve());
    });
  }

  /** Loses the next matching request: its connection is cut before the request reaches the server. */
  loseRequest(fits: (request: string, connection: ProxiedConnection) => boolean): Promise<void> {
    return this.onceRequested(fits, (connection) => {
      connection.swallow('requests');
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

  private onceRequested(
    fits: (request: string, connection: ProxiedConnection) => boolean,
    act: (connection: ProxiedConnection) => void,
  ): Promise<void> {
    return new Promise((resolve) => {
      let done = false;
      const stop = this.apply((connection) => {
        connection.watchRequests((text) => {
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
