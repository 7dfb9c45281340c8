import type { Socket } from 'node:net';

/** How long written bytes may stay unread before they are ignored, ms of real time: there may be no reader. */
const LONGEST_STANDSTILL = 100n * 1_000_000n;

/** Bytes that sockets of this process have written, or are about to write, to each other and that are not read yet. */
export class LocalTraffic {
  /** By both ports. */
  private readonly sockets = new Map<string, Socket>();
  private standsSince = 0n;
  private lastProgress = -1;

  /** Records an act on a socket. */
  seen(socket: Socket): void {
    const { localPort, remotePort } = socket;
    if (localPort !== undefined && remotePort !== undefined)
      this.sockets.set(nameOf(localPort, remotePort), socket);
  }

  /** Whether written bytes are still to be read. */
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
