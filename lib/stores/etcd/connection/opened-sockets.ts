import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/** Where Node tells of each TCP connection that is begun. */
const CHANNEL = 'net.client.socket';

/** For whom a connection is begun. It costs something as long as there is a context, so that there is none afterwards. */
const opener = new AsyncLocalStorage<OpenedSockets>();
let openers = 0;

/**
 * The sockets of a channel of gRPC that is not ready yet. Closing the channel leaves those alone which are connecting or
 * have begun with TLS, and to a server that says nothing they keep the process alive for as long as that goes on.
 */
export class OpenedSockets {
  private readonly sockets = new Set<Socket>();
  private isOver = false;

  /** Has something open sockets, at once or later. */
  during(open: () => void): void {
    if (openers === 0) subscribe(CHANNEL, onSocket);
    openers += 1;
    opener.run(this, open);
  }

  add(socket: Socket): void {
    // What comes of something else that began in this context is none of ours.
    if (!this.isOver) this.sockets.add(socket);
  }

  /** They are the channel's own from now on, which is ready. */
  keep(): void {
    this.sockets.clear();
    this.end();
  }

  destroy(): void {
    for (const socket of this.sockets) socket.destroy();
    this.keep();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    openers -= 1;
    if (openers > 0) return;
    unsubscribe(CHANNEL, onSocket);
    opener.disable();
  }
}

function onSocket(message: unknown): void {
  opener.getStore()?.add((message as { readonly socket: Socket }).socket);
}
