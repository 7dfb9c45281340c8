import type { Socket } from 'node:net';

/** `requests` flow from the client to the server, `replies` back. */
export type Direction = 'requests' | 'replies';

type Watcher = (text: string) => void;

class Flow {
  swallowing = false;
  lost = false;
  held: Buffer[] | undefined;
  /** The delay of all bytes, ms. */
  delay = 0;
  readonly watchers = new Set<Watcher>();
  private readonly onTheWay: { readonly chunk: Buffer; readonly due: number }[] = [];
  private timer: NodeJS.Timeout | undefined;
  private onceArrived: (() => void) | undefined;

  constructor(private readonly to: Socket) {}

  pass(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    for (const watcher of [...this.watchers]) watcher(text);
    if (this.swallowing) this.lost = true;
    else if (this.held) this.held.push(chunk);
    else this.send(chunk);
  }

  deliver(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const chunk of held) this.send(chunk);
  }

  end(): void {
    clearTimeout(this.timer);
    this.onTheWay.length = 0;
  }

  /** Calls back when all bytes under way have arrived. */
  whenArrived(done: () => void): void {
    if (this.onTheWay.length === 0) done();
    else this.onceArrived = done;
  }

  private send(chunk: Buffer): void {
    if (this.delay === 0 && this.onTheWay.length === 0) {
      if (!this.to.destroyed) this.to.write(chunk);
    } else if (this.onTheWay.push({ chunk, due: performance.now() + this.delay }) === 1) this.arriveLater();
  }

  private arriveLater(): void {
    const [first] = this.onTheWay;
    if (first === undefined) return;
    // Rounded up: timers drop fractions of a millisecond, so a second timer would be needed.
    this.timer = setTimeout(this.arrive, Math.max(0, Math.ceil(first.due - performance.now())));
  }

  /** Keeps the order of bytes, also when the delay has changed in between. */
  private readonly arrive = (): void => {
    const now = performance.now();
    for (
      let [first] = this.onTheWay;
      first !== undefined && first.due <= now + 0.5;
      [first] = this.onTheWay
    ) {
      this.onTheWay.shift();
      if (!this.to.destroyed) this.to.write(first.chunk);
    }
    this.arriveLater();
    if (this.onTheWay.length === 0) this.onceArrived?.();
  };
}

/** A client's connection to the proxy, with its counterpart to the server. */
export class ProxiedConnection {
  private readonly flows: Record<Direction, Flow>;
  private readonly cutListeners: (() => void)[] = [];
  private isCut = false;
  private sent = '';

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
  ) {
    this.flows = { requests: new Flow(server), replies: new Flow(client) };
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on('data', (chunk: Buffer) => {
      this.sent = (this.sent + chunk.toString('latin1')).slice(-4096);
      this.flows.requests.pass(chunk);
    });
    server.on('data', (chunk: Buffer) => this.flows.replies.pass(chunk));
    for (const socket of [client, server]) {
      socket.on('error', () => this.cut());
    }
    // As in a network, bytes sent before the end still arrive.
    client.on('close', () => this.flows.requests.whenArrived(() => this.close()));
    server.on('close', () => this.flows.replies.whenArrived(() => this.close()));
  }

  /** Whether this connection receives published messages instead of sending commands. */
  get subscribes(): boolean {
    return /subscribe\r\n|LISTEN /i.test(this.sent);
  }

  get hasLost(): boolean {
    return this.flows.requests.lost || this.flows.replies.lost;
  }

  swallow(direction: Direction): void {
    this.flows[direction].swallowing = true;
  }

  hold(direction: Direction): void {
    this.flows[direction].held ??= [];
  }

  deliver(direction: Direction): void {
    this.flows[direction].deliver();
  }

  /** From now on, all bytes in this direction take this much longer. */
  delay(direction: Direction, ms: number): void {
    this.flows[direction].delay = ms;
  }

  watchRequests(watcher: Watcher): void {
    this.flows.requests.watchers.add(watcher);
  }

  /** From now on, the first reply resets the connection instead of reaching the client. */
  cutInsteadOfReply(): void {
    const { replies } = this.flows;
    replies.swallowing = true;
    replies.watchers.add(() => this.cut());
  }

  onCut(listener: () => void): void {
    this.cutListeners.push(listener);
  }

  cut(): void {
    this.end(() => {
      // Node cannot reset a connection that is ending, and then would never close it.
      const { writableEnded, writableFinished } = this.client;
      if (writableEnded && !writableFinished) this.client.destroy();
      else this.client.resetAndDestroy();
      this.server.destroy();
    });
  }

  /** One side has closed the connection. */
  private close(): void {
    this.end(() => {
      this.client.destroySoon();
      this.server.destroySoon();
    });
  }

  private end(act: () => void): void {
    if (this.isCut) return;
    this.isCut = true;
    for (const flow of Object.values(this.flows)) flow.end();
    act();
    for (const listener of this.cutListeners) listener();
  }
}
