import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One command that a server has carried out. */
export interface MonitoredCommand {
  /** Address of the client, or `lua` for one of a script. */
  readonly source: string;
  readonly args: readonly string[];
}

const LINE = /^\+\d+\.\d+ \[\d+ (\S+)\] (.*)$/;
const WORD = /"((?:[^"\\]|\\.)*)"/g;

/**
 * All that a redis-server carries out, by `MONITOR` on a plain socket: a client that switches to another reading of
 * replies may be too late for lines that come with the first one.
 */
export class CommandMonitor {
  private rest = '';

  private constructor(
    private readonly socket: Socket,
    private readonly seen: (command: MonitoredCommand) => void,
  ) {
    socket.setEncoding('latin1');
    socket.on('error', () => undefined);
  }

  /** Resolves when the server has begun to tell. */
  static async of(
    server: { readonly host: string; readonly port: number },
    seen: (command: MonitoredCommand) => void,
  ): Promise<CommandMonitor> {
    const socket = connect(server.port, server.host);
    await once(socket, 'connect');
    const monitor = new CommandMonitor(socket, seen);
    await new Promise<void>((resolve, reject) => {
      socket.on('data', (text: string) => monitor.read(text, resolve));
      socket.once('close', () => reject(new Error('the server closed the connection of MONITOR')));
      socket.write('MONITOR\r\n');
    });
    return monitor;
  }

  close(): void {
    this.socket.destroy();
  }

  private read(text: string, begun: () => void): void {
    const lines = (this.rest + text).split('\r\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '+OK') begun();
      const [, source, words = ''] = LINE.exec(line) ?? [];
      if (source !== undefined)
        this.seen({ source, args: [...words.matchAll(WORD)].map(([, word = '']) => plain(word)) });
    }
  }
}

/** A word without the escapes of the line, for words of one-byte characters. */
function plain(word: string): string {
  return word.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code: string | undefined, letter = '') =>
    code === undefined ? String(letter) : String.fromCharCode(parseInt(code, 16)),
  );
}
