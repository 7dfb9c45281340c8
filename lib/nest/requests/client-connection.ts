/**
 * The connection of the client that waits for an HTTP response. It reads the response, because the request is "closed"
 * as soon as its body has been read.
 */
export class ClientConnection {
  constructor(private readonly response: ServerResponse) {}

  /** Whether the connection was closed before the response was complete; false without a connection. */
  get isGone(): boolean {
    const { destroyed, req } = this.response;
    // A pipelined response may have no socket yet, but its request has one; over HTTP/2 that stands for the stream. With
    // Fastify's inject() only the response shows it.
    return !this.isComplete && (destroyed === true || req?.socket?.destroyed === true);
  }

  /** Calls `gone` if the connection closes before the response is complete. Returns a function that stops watching. */
  onGone(gone: () => void): () => void {
    const { response } = this;
    const closed = (): void => {
      if (!this.isComplete) gone();
    };
    response.once?.('close', closed);
    const ignoreSocket = this.whenUnsent(closed);
    return () => {
      response.off?.('close', closed);
      ignoreSocket?.();
    };
  }

  /** Calls `over`, once, when the response has been sent or its client has gone. */
  whenOver(over: () => void): void {
    const { response } = this;
    if (response.once === undefined || this.isComplete || this.isGone) {
      over();
      return;
    }
    let isOver = false;
    const end = (): void => {
      // The connection may carry many more requests.
      ignoreSocket?.();
      if (!isOver) over();
      isOver = true;
    };
    const ignoreSocket = this.whenUnsent(end);
    // Fastify's inject() emits no `close`.
    response.once('finish', end);
    response.once('close', end);
  }

  /**
   * A pipelined response that has no socket yet never learns that the connection closed, so its request's socket is
   * watched. Returns a function that stops watching.
   */
  private whenUnsent(closed: () => void): (() => void) | undefined {
    const { req, socket } = this.response;
    return socket === null && req?.socket ? whenClosed(req.socket, closed) : undefined;
  }

  /** Over HTTP/2, the response of a client that disconnected counts as finished, but not as ended. */
  private get isComplete(): boolean {
    return this.response.writableFinished === true && this.response.writableEnded !== false;
  }
}

/** The parts of Node's responses over HTTP/1 and HTTP/2 that it reads. */
interface ServerResponse {
  readonly req?: { readonly socket?: Socket | null };
  readonly socket?: object | null;
  readonly destroyed?: boolean;
  readonly writableFinished?: boolean;
  readonly writableEnded?: boolean;
  once?(event: 'close' | 'finish', listener: () => void): unknown;
  off?(event: 'close', listener: () => void): unknown;
}

interface Socket {
  readonly destroyed?: boolean;
  once?(event: 'close', listener: () => void): unknown;
}

const closing = new WeakMap<Socket, Set<() => void>>();

/** Calls `closed` when a socket closes, with one listener however many requests the client pipelines on it. */
function whenClosed(socket: Socket, closed: () => void): () => void {
  let callbacks = closing.get(socket);
  if (callbacks === undefined) {
    const all = (callbacks = new Set());
    closing.set(socket, all);
    socket.once?.('close', () => all.forEach((callback) => callback()));
  }
  callbacks.add(closed);
  return () => callbacks.delete(closed);
}
