import type { Socket } from 'node:net';

/** For how long what is written may stay unread without a byte read of it, ms of real time: nobody may be going to. */
const LONGEST_STANDSTILL = 100n * 1_000_000n;

/** What sockets of this process have sent to each other, or are to send, and nobody has read yet. */
export class LocalTraffic {
  /** By both of its ports. */
  private readonly sockets = new Map<string, Socket>();
  private standsSince = 0n;
  private lastProgress = -1;

  /** Something comes or goes over that socket. */
  seen(socket: Socket): void {
    const { localPort, remotePort } = socket;
    if (localPort !== undefined && remotePort !== undefined)
      this.sockets.set(nameOf(localPort, remotePort), socket);
  }

  /** Whether more is to come of what was written before. */
  isUnderWay(): boolean {
    let [isUnread, progress] = [false, 0];
    for (const [name, socket] of this.sockets) {
      const { destroyed, localPort, remotePort, bytesWritten, writableLength } = socket;
      if (destroyed || localPort === undefined || remotePort === undefined) {
        this.sockets.delete(name);
        continue;
      }
      const peer = this.sockets.get(nameOf(remotePort, localPort));
      if (writableLength === 0 && (peer === undefined || bytesWritten <= peer.bytesRead)) continue;
      isUnread = true;
      progress += bytesWritten - writableLength + (peer?.bytesRead ?? 0);
    }
    if (!isUnread) return false;
    const now = process.hrtime.bigint();
    if (progress !== this.lastProgress) this.standsSince = now;
    this.lastProgress = progress;
    return now - this.standsSince < LONGEST_STANDSTILL;
  }
}

function nameOf(localPort: number, remotePort: number): string {
  return `${localPort} ${remotePort}`;
}
