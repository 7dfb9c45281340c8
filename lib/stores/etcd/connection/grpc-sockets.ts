import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setImmediate, setTimeout } from 'node:timers';

/** The diagnostics channel on which Node publishes every new TCP connection. */
const SOCKETS = 'net.client.socket';
/** gRPC makes its last attempt to connect within this time after it was closed, ms. */
const LAST_ATTEMPT = 2_000;

/**
 * The sockets of a channel that is not ready yet. gRPC does not close sockets that are still connecting, or in a TLS
 * handshake, with the channel; if the server does not reply, they keep the process alive. When an attempt has failed, gRPC
 * makes another one a second later, even if the channel is closed, and keeps that connection
 * (https://github.com/grpc/grpc-node/blob/master/packages/grpc-js/src/subchannel.ts).
 */
export class OpenedSockets {
  private readonly sockets = new Set<Socket>();
  private isEnded = false;
  /** Disabled once the channel is ready: an active async context costs time in the whole process. */
  private readonly opener = new AsyncLocalStorage<true>();

  /** Collects the sockets that `open` creates, now or later. */
  during<T>(open: () => T): T {
    subscribe(SOCKETS, this.add);
    return this.opener.run(true, open);
  }

  /** The channel is ready and closes its sockets itself. */
  keep(): void {
    unsubscribe(SOCKETS, this.add);
    this.opener.disable();
    this.sockets.clear();
  }

  /** The channel is closed: destroys its sockets, and later ones. */
  end(): void {
    this.isEnded = true;
    this.destroy();
    setTimeout(() => this.keep(), LAST_ATTEMPT).unref();
  }

  private destroy(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  private readonly add = (message: unknown): void => {
    if (this.opener.getStore() !== true) return;
    this.sockets.add((message as { readonly socket: Socket }).socket);
    // Node begins to connect the socket only after this message.
    if (this.isEnded) setImmediate(() => this.destroy());
  };
}
