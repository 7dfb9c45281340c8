/**
 * The connection of the client that waits for the response to an HTTP request. It is asked by the side of the response:
 * a request is "closed" as soon as its body has been read.
 */
export class ClientConnection {
  private readonly response: ServerResponse;

  constructor(response: ServerResponse & { readonly raw?: ServerResponse }) {
    this.response = response.raw ?? response;
  }

  /** Whether the client has closed it before the response was complete. Of a request without a connection: false. */
  get isGone(): boolean {
    const { response } = this;
    if (this.isComplete) return false;
    // The socket tells of pipelined requests, too, whose response has none yet; the stream, of HTTP/2.
    const ends = [response, response.stream, response.req?.socket];
    return ends.some((end) => end?.destroyed === true);
  }

  /** Whether the response has begun. */
  get isAnswering(): boolean {
    return this.response.headersSent === true;
  }

  /** Calls back when it closes before the response is complete. Returns how to stop that. */
  onGone(gone: () => void): () => void {
    const { response } = this;
    const closed = (): void => {
      if (!this.isComplete) gone();
    };
    response.once?.('close', closed);
    return () => response.off?.('close', closed);
  }

  /** A response of HTTP/2 whose client has gone counts as finished, too, without having been ended. */
  private get isComplete(): boolean {
    return this.response.writableFinished === true && this.response.writableEnded !== false;
  }
}

interface End {
  readonly destroyed?: boolean;
}

/** What Express gives, and Fastify as `raw`. */
interface ServerResponse extends End {
  readonly stream?: End;
  readonly req?: { readonly socket?: End | null };
  readonly headersSent?: boolean;
  readonly writableFinished?: boolean;
  readonly writableEnded?: boolean;
  once?(event: 'close', listener: () => void): unknown;
  off?(event: 'close', listener: () => void): unknown;
}
