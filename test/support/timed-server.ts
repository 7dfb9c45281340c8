import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A server whose clock a test can set. */
export interface TimedServer {
  readonly port: number;
  /** Its wall clock shows this until it is told again, ms. */
  fixClock(wall: number): void;
}

const BLOCKED = /blocked_clients:(\d+)/;

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

  /** Resolves when the server has worked off what it had received before, with whether nobody waits for it (`WAIT`). */
  async isIdle(): Promise<boolean> {
    const { socket } = this;
    if (socket.destroyed) return true;
    return await new Promise<boolean>((resolve) => {
      let answer = '';
      const done = (isIdle: boolean): void => {
        socket.off('data', read).off('close', ended).unref();
        resolve(isIdle);
      };
      const ended = (): void => done(true);
      const read = (chunk: Buffer): void => {
        answer += chunk.toString('latin1');
        const [, blocked] = BLOCKED.exec(answer) ?? [];
        if (blocked !== undefined && answer.endsWith('\r\n')) done(blocked === '0');
      };
      socket.on('data', read).on('close', ended).ref();
      socket.write('INFO clients\r\n');
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
