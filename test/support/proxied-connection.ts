import type { Socket } from 'node:net';

/** `requests` flow from the client to the server, `replies` back. */
export type Direction = 'requests' | 'replies';

type Watcher = (text: string) => void;

class Flow {
  swallowing = false;
  lost = false;
  held: Buffer[] | undefined;
  readonly watchers = new Set<Watcher>();

  constructor(private readonly to: Socket) {}

  pass(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    for (const watcher of [...this.watchers]) watcher(text);
    if (this.swallowing) this.lost = true;
    else if (this.held) this.held.push(chunk);
    else if (!this.to.destroyed) this.to.write(chunk);
  }

  letGo(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const chunk of held) if (!this.to.destroyed) this.to.write(chunk);
  }
}

/** One client connection of the proxy with its counterpart at the server. */
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
      socket.on('close', () => this.cut());
    }
  }

  /** Whether this connection waits for published messages rather than sending commands. */
  get subscribes(): boolean {
    return /subscribe\r\n/i.test(this.sent);
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

  letGo(direction: Direction): void {
    this.flows[direction].letGo();
  }

  watch(kind: 'request' | 'reply', watcher: Watcher): void {
    this.flows[kind === 'request' ? 'requests' : 'replies'].watchers.add(watcher);
  }

  /** From now on the first thing that the server answers resets the connection instead of reaching the client. */
  cutInsteadOfReply(): void {
    const { replies } = this.flows;
    replies.swallowing = true;
    replies.watchers.add(() => this.cut());
  }

  onCut(listener: () => void): void {
    this.cutListeners.push(listener);
  }

  cut(): void {
    if (this.isCut) return;
    this.isCut = true;
    this.client.resetAndDestroy();
    this.server.destroy();
    for (const listener of this.cutListeners) listener();
  }
}
