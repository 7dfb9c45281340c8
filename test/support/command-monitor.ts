import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** One command that a server has carried out. */
export interface MonitoredCommand {
  /** The address of the client, or `lua` for a command in a script. */
  readonly source: string;
  readonly args: readonly string[];
}

const LINE = /^\+\d+\.\d+ \[\d+ (\S+)\] (.*)$/;
const WORD = /"((?:[^"\\]|\\.)*)"/g;

/**
 * Reads all commands that a redis-server runs, by `MONITOR` on a plain socket: a client that switches its reply parser
 * may miss lines that arrive with the first reply.
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

  /** Resolves when the server has started to report. */
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

/** Removes the escapes of a line, for words of single-byte characters. */
function plain(word: string): string {
  return word.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code: string | undefined, letter = '') =>
    code === undefined ? String(letter) : String.fromCharCode(parseInt(code, 16)),
  );
}
