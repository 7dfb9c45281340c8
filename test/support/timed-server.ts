import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A server whose clock a test can set. */
export interface TimedServer {
  readonly port: number;
  /** Its wall clock shows this until it is told again, ms. */
  fixClock(wall: number): void;
}

/** Asks a redis-server whether it has answered all that was sent to it so far. */
export class IdleProbe {
  private constructor(
    readonly server: TimedServer,
    private readonly socket: Socket,
  ) {
    socket.setNoDelay(true);
    socket.unref();
    // A server that has ended has nothing left to answer.
    socket.on('error', () => undefined);
  }

  static async open(server: TimedServer): Promise<IdleProbe> {
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    return new IdleProbe(server, socket);
  }

  /** Whether that socket is the probe's own. */
  uses(socket: Socket): boolean {
    return socket === this.socket;
  }

  /** Resolves when the server has worked off what it had received before. */
  async asked(): Promise<void> {
    if (this.socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.socket.off('data', done).off('close', done);
        this.socket.unref();
        resolve();
      };
      this.socket.on('data', done).on('close', done);
      this.socket.ref();
      this.socket.write('PING\r\n');
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
