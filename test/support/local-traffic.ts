import type { Socket } from 'node:net';

/** For how long what is written may stay unread, ms of real time: the reader may never read it. */
const LONGEST_TRANSFER = 1_000n * 1_000_000n;

/** What sockets of this process have sent to each other, or are to send, and nobody has read yet. */
export class LocalTraffic {
  /** By both of its ports. */
  private readonly sockets = new Map<string, Socket>();
  private unchangedSince = 0n;
  private lastSum = -1;

  /** Something comes or goes over that socket. */
  seen(socket: Socket): void {
    const { localPort, remotePort } = socket;
    if (localPort !== undefined && remotePort !== undefined)
      this.sockets.set(nameOf(localPort, remotePort), socket);
  }

  /** Whether more is to come of what was written before. */
  isUnderWay(): boolean {
    let [isUnread, sum] = [false, 0];
    for (const [name, socket] of this.sockets) {
      const { destroyed, localPort, remotePort, bytesWritten, bytesRead } = socket;
      if (destroyed || localPort === undefined || remotePort === undefined) {
        this.sockets.delete(name);
        continue;
      }
      sum += bytesWritten + bytesRead - socket.writableLength;
      const peer = this.sockets.get(nameOf(remotePort, localPort));
      if (socket.writableLength > 0 || (peer !== undefined && bytesWritten > peer.bytesRead)) isUnread = true;
    }
    if (!isUnread) return false;
    const now = process.hrtime.bigint();
    if (sum !== this.lastSum) this.unchangedSince = now;
    this.lastSum = sum;
    return now - this.unchangedSince < LONGEST_TRANSFER;
  }
}

function nameOf(localPort: number, remotePort: number): string {
  return `${localPort} ${remotePort}`;
}
